//! Parses JSON numbers to the nearest `f32`.
//!
//! Nearly all numbers that clients send are a digit, a point and up to 17 digits. They have a fast
//! path, because `fast-float2` takes 1.3 times as long for a whole body of them. It computes an
//! `f64`, which is off by at most two units in its last place. Wherever that error could decide
//! between two `f32` (double rounding), and for every other kind of number, `fast-float2` is used.

/// Powers of ten that `f64` represents exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// Powers of ten as integers.
const WHOLE_POWERS: [u64; 9] =
    [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// Mantissa bits that `f64` has and `f32` lacks, and the midpoint between two `f32` in them.
const EXTRA: u64 = (1 << 29) - 1;
const MIDDLE: u64 = 1 << 28;
/// Distance from the midpoint, in units of the last place, beyond which rounding is certain.
const DOUBT: u64 = 8;

/// Parses the number at the start of `text`; returns it with its length, or `None` if there is
/// none. Numbers beyond the range of `f32` become infinite.
pub(super) fn parse(text: &[u8]) -> Option<(f32, usize)> {
    plain(text).or_else(|| any(text))
}

/// Fast path: a digit, a point, and up to 24 digits that fit into 64 bits, of which eight are
/// parsed at a time. Needs 32 bytes after the sign. `None` for any other number, and whenever
/// rounding is not certain.
#[inline]
fn plain(text: &[u8]) -> Option<(f32, usize)> {
    let is_negative = *text.first()? == b'-';
    let text: &[u8; 32] = text.get(usize::from(is_negative)..)?.first_chunk()?;
    let whole = text[0].wrapping_sub(b'0');
    if whole > 9 || text[1] != b'.' {
        return None;
    }
    let (mut mantissa, mut at) = (u64::from(whole), 2);
    let (groups, _) = text[2..].as_chunks::<8>();
    for group in groups {
        let (digits, count) = leading_digits(group);
        at += count;
        mantissa = mantissa.checked_mul(WHOLE_POWERS[count])?.checked_add(digits)?;
        if count < 8 {
            break;
        }
    }
    let is_whole = at > 2 && !matches!(text[at], b'e' | b'E' | b'0'..=b'9');
    let value = quick(mantissa, at - 2).filter(|_| is_whole)?;
    Some((if is_negative { -value } else { value }, at + usize::from(is_negative)))
}

/// `mantissa` divided by ten to the power of `decimals`, if its rounding to `f32` is certain.
fn quick(mantissa: u64, decimals: usize) -> Option<f32> {
    if mantissa == 0 {
        return Some(0.0);
    }
    let value = mantissa as f64 / POWERS.get(decimals)?;
    let is_normal = value >= f64::from(f32::MIN_POSITIVE);
    let is_certain = (value.to_bits() & EXTRA).abs_diff(MIDDLE) > DOUBT;
    (is_normal && is_certain).then_some(value as f32)
}

/// Slow path: any number.
fn any(text: &[u8]) -> Option<(f32, usize)> {
    if !begins_as_json(text) {
        return None;
    }
    let (value, length) = fast_float2::parse_partial(text).ok()?;
    // An exponent without digits is left unparsed; such a text is not a JSON number.
    let is_whole = !matches!(text.get(length), Some(b'e' | b'E'));
    is_whole.then_some((value, length))
}

/// True if the digits before the exponent are valid in JSON. `fast-float2` accepts more: a plus
/// sign, leading zeros, a point without digits on either side, names.
fn begins_as_json(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let whole = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let has_zeros_in_front = whole > 1 && digits[0] == b'0';
    let fraction = digits[whole..].strip_prefix(b".");
    let has_digits = fraction.is_none_or(|it| it.first().is_some_and(u8::is_ascii_digit));
    whole > 0 && !has_zeros_in_front && has_digits
}

/// The leading decimal digits as a number, and their count. All digits are combined at once within
/// a 64-bit word (SWAR): into pairs, then fours, then the whole.
#[inline]
fn leading_digits(text: &[u8; 8]) -> (u64, usize) {
    let digits = u64::from_le_bytes(*text) ^ u64::from_le_bytes([b'0'; 8]);
    // For a digit, the upper half of its byte is 0 after the XOR, and stays 0 when 6 is added. A
    // carry into the next byte can only come from a byte that is not a digit, and only the first of
    // those matters.
    let others =
        (digits | digits.wrapping_add(u64::from_le_bytes([6; 8]))) & u64::from_le_bytes([0xf0; 8]);
    let count = others.trailing_zeros() / 8;
    // Shifts out the bytes after the digits; zeros take the place of leading digits.
    let digits = digits.checked_shl(64 - 8 * count).unwrap_or(0);
    let pairs = (digits * 10 + (digits >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    ((fours * 10_000 + (fours >> 32)) & 0xffff_ffff, count as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_in_front_are_read_at_once_and_nothing_else() {
        let mut state = 1_u64;
        for _ in 0..100_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let text = format!("{:08}", (state >> 32) % 100_000_000);
            let mut bytes: [u8; 8] = text.as_bytes().try_into().expect("eight bytes");
            bytes[state as usize >> 20 & 7] = (state >> 24) as u8;
            let count = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let digits = bytes[..count].iter().map(|byte| u64::from(byte - b'0'));
            let expected = digits.fold(0, |number, digit| number * 10 + digit);
            assert_eq!(leading_digits(&bytes), (expected, count), "{bytes:?}");
        }
    }

    fn check(text: &str) {
        let expected: f32 = text.parse().expect("a number");
        // Numbers near the end of a text use another path than numbers with 32 bytes after them.
        for after in ["", ", 0.25, 0.125, 0.0625, 0.03125, 0.015625]"] {
            let (found, length) = parse(format!("{text}{after}").as_bytes()).expect("a number");
            assert_eq!((found.to_bits(), length), (expected.to_bits(), text.len()), "{text}");
        }
    }

    #[test]
    fn numbers_are_the_nearest_as_the_standard_library_has_it() {
        let mut seed = 1_u64;
        for _ in 0..10_000 {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let bits = (seed >> 32) as u32;
            let value = f32::from_bits(bits);
            if value.is_finite() {
                check(&format!("{value}"));
                check(&format!("{value:e}"));
                check(&format!("{}", f64::from(value)));
                // The midpoint to the next `f32`, and its neighbours.
                let middle = (f64::from(value) + f64::from(value.next_up())) / 2.0;
                if middle.is_finite() {
                    for near in [middle, middle.next_up(), middle.next_down()] {
                        check(&format!("{near:e}"));
                    }
                }
            }
            check(&format!("{}", f64::from(bits) / 4_294_967_296.0 - 0.5));
            check(&format!("0.{seed}{seed}"));
            check(&format!("0.{}{seed}", "0".repeat(bits as usize % 12)));
            check(&format!("{}.{seed}", bits % 10_000));
            check(&format!("{seed}{bits}.{bits}e-{}", bits % 50));
        }
        for text in ["0", "-0", "0.0e99", "1e39", "-1e999999999999", "1e-999999999999", "1e-46"] {
            check(text);
        }
    }

    #[test]
    fn what_is_no_number_is_left() {
        for text in [
            "", "-", "+1", ".5", "1.", "1.e5", "1e", "1e+", "x", "-x", "\"1\"", "01", "-01", "00.5",
        ] {
            for after in ["", ", 0.25, 0.125, 0.0625, 0.03125, 0.015625]"] {
                assert_eq!(parse(format!("{text}{after}").as_bytes()), None, "{text}");
            }
        }
        assert_eq!(parse(b"1.5]"), Some((1.5, 3)));
    }
}
