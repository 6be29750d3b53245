//! The kernel that runs everywhere, and what the others are compared with.

use super::GROUP;

pub(super) fn dot(levels: &[u8], elements: &[i8]) -> i32 {
    let (groups, _) = levels.as_chunks::<64>();
    let (elements, _) = elements.as_chunks::<GROUP>();
    let mut sum = 0;
    for (levels, elements) in groups.iter().zip(elements) {
        let (low, high) = elements.split_at(64);
        for ((level, low), high) in levels.iter().zip(low).zip(high) {
            sum +=
                i32::from(level & 15) * i32::from(*low) + i32::from(level >> 4) * i32::from(*high);
        }
    }
    sum
}
