//! Frames that are complete, and wait for the commit of their record to be written.

use std::io;

use parking_lot::Mutex;

use super::super::BlobId;
use super::super::buffer::Buffer;
use super::active::Reserved;
use super::dirty::Dirty;
use super::place::Place;

/// Frames that wait at most, each with a buffer of a piece. A seal beyond them writes its own.
pub(super) const WAITING_MAX: usize = 64;

/// Short frames that nobody can read yet. The commit of a record writes those that the record names.
/// A frame whose update never comes is deleted here.
#[derive(Debug, Default)]
pub(super) struct Unwritten {
    waiting: Mutex<Vec<Frame>>,
    /// Held while frames are written: a deletion must find a frame here or in its segment.
    writing: Mutex<()>,
}

#[derive(Debug)]
struct Frame {
    reserved: Reserved,
    buffer: Buffer,
    /// Bytes of the frame in the buffer.
    bytes: usize,
}

impl Unwritten {
    /// `true` unless so many wait that a seal must write its own frame.
    pub(super) fn has_room(&self) -> bool {
        self.waiting.lock().len() < WAITING_MAX
    }

    /// Adds a frame: the first `bytes` bytes of `buffer`.
    pub(super) fn add(&self, reserved: Reserved, buffer: Buffer, bytes: usize) {
        self.waiting.lock().push(Frame { reserved, buffer, bytes });
    }

    /// Writes the frames of `blobs`. They are in `dirty` then.
    ///
    /// # Errors
    /// Any error of the disk. All of them are given up then, with their places: none gets its record.
    pub(super) fn write(&self, blobs: &[BlobId], dirty: &Dirty) -> io::Result<()> {
        // Also if none of them waits: another caller may be writing one of them.
        let _alone = self.writing.lock();
        let is_wanted = |frame: &mut Frame| blobs.contains(&frame.reserved.place.id());
        let mut frames: Vec<Frame> = self.waiting.lock().extract_if(.., is_wanted).collect();
        // One behind the other on the device.
        frames.sort_unstable_by_key(|frame| {
            (frame.reserved.place.segment, frame.reserved.place.start)
        });
        frames.iter().try_for_each(|frame| frame.write(dirty))?;
        frames.into_iter().for_each(|frame| frame.reserved.keep());
        Ok(())
    }

    /// Writes all frames that were added before the call.
    ///
    /// # Errors
    /// Any error of the disk. What was not written goes on waiting for its record.
    pub(super) fn write_all(&self, dirty: &Dirty) -> io::Result<()> {
        let _alone = self.writing.lock();
        let mut frames = std::mem::take(&mut *self.waiting.lock()).into_iter();
        while let Some(frame) = frames.next() {
            if let Err(error) = frame.write(dirty) {
                self.waiting.lock().extend(std::iter::once(frame).chain(frames));
                return Err(error);
            }
            frame.reserved.keep();
        }
        Ok(())
    }

    /// Forgets the frame at `place`, which then was never written; `false` if it does not wait.
    pub(super) fn forget(&self, place: &Place) -> bool {
        let is_it = |frame: &mut Frame| frame.reserved.place == *place;
        let forget = || self.waiting.lock().extract_if(.., is_it).next().is_some();
        forget() || {
            let _none_is_written = self.writing.lock();
            forget()
        }
    }
}

impl Frame {
    fn write(&self, dirty: &Dirty) -> io::Result<()> {
        let Reserved { file, place, segment, .. } = &self.reserved;
        file.write_at(&self.buffer[..self.bytes], place.offset())?;
        dirty.add(segment, file, place.bytes());
        Ok(())
    }
}
