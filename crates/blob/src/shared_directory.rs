//! [`SharedDirectoryBlobStore`]: blobs as files of a directory that several servers use at once, on NFS, CephFS or
//! another network file system.
//!
//! The files are those of [`FileBlobStore`], each blob in one of its own. Nothing is decided by the file system:
//! names are made of the number of the server's run and of random bytes, so that no two servers ever make
//! the same one, temporary files are below `tmp/RUN/`, and a start deletes only those of its own run.
//!
//! All servers run as one user, since files and directories are for their owner alone.
//!
//! A deleted file goes on being read on a local file system. On NFS it is a stale handle, which is told as
//! [`BlobError::Unavailable`]; deletion waits for readers elsewhere (`Cluster::may_delete`).

use std::io;
use std::path::Path;
use std::sync::Arc;

use liteio_disk::{Disk, Durability, OpenMode, RealDisk};

use super::file::{self, FileBlobStore, TEMPORARY_DIRECTORY, Use};
use super::file_path::Fanout;
use super::identity::{self, ClusterId, IDENTITY, IDENTITY_BYTES_MAX};
use super::shared_store::SharedBlobStore;
use super::{
    BlobError, BlobId, BlobReader, BlobStore, BlobWriter, Lengths, MemoryBlobStore, Seal, Sealed,
};

/// Blobs as files of a shared directory.
#[derive(Debug)]
pub(crate) struct SharedDirectoryBlobStore {
    files: FileBlobStore,
    disk: Arc<dyn Disk>,
    shown: String,
    /// The number of this server's run.
    run: u32,
}

impl SharedDirectoryBlobStore {
    /// Opens the blobs of a directory, which must exist, and makes what is missing in it. Temporary files of
    /// this run are deleted: a run that is opened again has no writers.
    ///
    /// # Errors
    /// One line that says what to change.
    pub(crate) fn open(path: &Path, run: u32) -> Result<Self, String> {
        let refused = |error: &dyn std::fmt::Display| {
            format!(
                "the directory of blobs {} cannot be used: {error}: mount it, and let this user write there",
                path.display()
            )
        };
        let disk = RealDisk::open_shared(path, &name_of(run)).map_err(|error| refused(&error))?;
        let shown = format!("file://{}", path.display());
        Self::on(Arc::new(disk), shown, run).map_err(|error| refused(&error))
    }

    /// The same on a disk.
    ///
    /// # Errors
    /// [`BlobError::NoSpace`], [`BlobError::Poisoned`] or [`BlobError::Io`].
    pub(super) fn on(disk: Arc<dyn Disk>, shown: String, run: u32) -> Result<Self, BlobError> {
        let used =
            Use { fanout: Fanout::BEHIND_RUN, temporary: temporary_of(run), is_shared: true };
        // Another server has no log of this one: whatever is sealed is durable, and in a file of its own.
        let own = Arc::clone(&disk);
        let files = FileBlobStore::open_for(used, own, Durability::Fsync, 0, Lengths::new(0))?;
        files.clean_temporary()?;
        Ok(Self { files, disk, shown, run })
    }

    fn read_contents(&self) -> io::Result<Option<Vec<u8>>> {
        let file = match self.disk.open(IDENTITY, OpenMode::Read) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let mut contents = vec![0; file.len()?.min(IDENTITY_BYTES_MAX) as usize];
        let length = file.read_at(&mut contents, 0)?;
        contents.truncate(length);
        Ok(Some(contents))
    }

    fn create_contents(&self, contents: &str) -> io::Result<()> {
        let file = self.disk.create_temporary()?;
        file.write_at(contents.as_bytes(), 0)?;
        file.sync_data()?;
        match self.disk.link(&*file, IDENTITY) {
            // Made meanwhile, or by this call, whose answer the network lost: the contents decide.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            linked => linked?,
        }
        self.disk.sync_dir("")
    }
}

fn name_of(run: u32) -> String {
    format!("{run:08x}")
}

fn temporary_of(run: u32) -> String {
    format!("{TEMPORARY_DIRECTORY}/{}", name_of(run))
}

/// A writer whose seal is durable whatever its caller would leave to a record.
#[derive(Debug)]
struct DurableWriter(Box<dyn BlobWriter>);

impl BlobWriter for DurableWriter {
    fn append(&mut self, bytes: &[u8]) -> Result<(), BlobError> {
        self.0.append(bytes)
    }

    fn seal(self: Box<Self>, _: Seal) -> Result<Sealed, BlobError> {
        self.0.seal(Seal::Now)
    }
}

impl BlobStore for SharedDirectoryBlobStore {
    fn next_id(&self, random: [u8; 16]) -> BlobId {
        // Behind the run is the byte of the directory, chosen as in a directory of one process.
        self.files.next_id(BlobId::of_run(self.run, random).0)
    }

    fn begin(
        &self,
        id: BlobId,
        expected_bytes: Option<u64>,
    ) -> Result<Box<dyn BlobWriter>, BlobError> {
        Ok(Box::new(DurableWriter(self.files.begin(id, expected_bytes)?)))
    }

    fn begin_as(&self, id: BlobId) -> Result<Box<dyn BlobWriter>, BlobError> {
        Ok(Box::new(DurableWriter(self.files.begin_as(id)?)))
    }

    fn open(&self, id: &BlobId, body_bytes: u64) -> Result<Arc<dyn BlobReader>, BlobError> {
        self.files.open(id, body_bytes)
    }

    fn delete(&self, id: &BlobId) -> Result<(), BlobError> {
        self.files.delete(id)
    }

    fn scan(&self, found: &mut dyn FnMut(BlobId)) -> Result<(), BlobError> {
        self.files.scan(found)
    }

    fn clean_temporary(&self) -> Result<(), BlobError> {
        self.files.clean_temporary()
    }

    fn is_own(&self, id: &BlobId) -> bool {
        id.run() == self.run
    }

    fn close(&self) -> Result<bool, BlobError> {
        self.files.close()
    }

    fn clone_in_memory(&self) -> Option<MemoryBlobStore> {
        None
    }

    fn scan_run(&self, run: u32, found: &mut dyn FnMut(BlobId)) -> Result<(), BlobError> {
        self.files.scan(&mut |id| {
            if id.run() == run {
                found(id);
            }
        })
    }

    fn probe(&self) -> Result<(), BlobError> {
        self.probe_identity()
    }

    fn clean_run(&self, run: u32) -> Result<(), BlobError> {
        match file::remove_files(&*self.disk, &temporary_of(run)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(BlobError::from_write(&*self.disk, error))
            }
            _ => Ok(()),
        }
    }
}

impl SharedBlobStore for SharedDirectoryBlobStore {
    fn read_identity(&self) -> Result<Option<ClusterId>, BlobError> {
        let contents = self.read_contents().map_err(|error| BlobError::Io(Arc::new(error)))?;
        let id = contents.map(|contents| identity::decode(&contents, &self.shown)).transpose();
        id.map_err(|reason| BlobError::Unavailable { reason })
    }

    fn create_identity(&self, id: &ClusterId) -> Result<bool, BlobError> {
        if let Some(found) = self.read_identity()? {
            return Ok(found == *id);
        }
        let created = self.create_contents(&identity::encode(id));
        created.map_err(|error| BlobError::from_write(&*self.disk, error))?;
        Ok(self.read_identity()? == Some(*id))
    }

    fn shown(&self) -> &str {
        &self.shown
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::atomic::{AtomicU32, Ordering};

    use liteio_disk::SimulatedDisk;

    use super::*;
    use crate::contract::{blob_store_contract, check_reads_back, seal};

    fn open(path: &Path, run: u32) -> SharedDirectoryBlobStore {
        SharedDirectoryBlobStore::open(path, run).expect("opened")
    }

    fn found(store: &dyn BlobStore) -> BTreeSet<BlobId> {
        let mut ids = BTreeSet::new();
        store.scan(&mut |id| assert!(ids.insert(id))).expect("scanned");
        ids
    }

    fn of(store: &SharedDirectoryBlobStore, run: u32) -> BTreeSet<BlobId> {
        let mut ids = BTreeSet::new();
        store.scan_run(run, &mut |id| assert!(ids.insert(id))).expect("scanned");
        ids
    }

    fn temporary(path: &Path, run: u32) -> usize {
        std::fs::read_dir(path.join(temporary_of(run))).map_or(0, Iterator::count)
    }

    #[test]
    fn a_shared_directory_keeps_the_contract() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let next = AtomicU32::new(0);
        blob_store_contract(&|| {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let path = directory.path().join(number.to_string());
            std::fs::create_dir(&path).expect("made");
            Arc::new(open(&path, number))
        });
    }

    #[test]
    fn servers_of_different_runs_see_each_others_blobs_and_leave_them_alone() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path();
        // Both are open before either has made a directory.
        let (one, other) = (open(path, 1), open(path, 0x0200_0000));
        let of_one: BTreeSet<BlobId> =
            (0..9).map(|seed| seal(&one, seed, &[seed; 50]).id).collect();
        let sealed = seal(&other, 1, b"the same random bytes");
        assert_eq!(of(&other, 1), of_one);
        assert_eq!(of(&one, 0x0200_0000), BTreeSet::from([sealed.id]));
        check_reads_back(&one, sealed, b"the same random bytes");
        assert!(one.is_own(of_one.first().expect("one")) && !one.is_own(&sealed.id));

        // A running writer survives the start of a third server, and its sweep of the first one.
        let id = other.next_id([9; 16]);
        let mut writer = other.begin(id, None).expect("begun");
        writer.append(&[7; 100_000]).expect("appended");
        let third = open(path, 3);
        third.clean_run(1).expect("cleaned");
        third.scan_run(1, &mut |id| third.delete(&id).expect("deleted")).expect("swept");
        writer.append(&[7; 100_000]).expect("appended");
        let late = writer.seal(Seal::InLog).expect("sealed");
        assert!(late.contents_to_note.is_none(), "no log of this server is read by others");
        check_reads_back(&third, late.blob, &[7; 200_000]);
        assert_eq!(found(&third), BTreeSet::from([sealed.id, late.blob.id]));
    }

    #[test]
    fn temporary_files_are_deleted_by_their_own_run_or_for_a_dead_one() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path();
        let (one, other) = (open(path, 1), open(path, 2));
        let begun = |store: &SharedDirectoryBlobStore, seed| {
            let mut writer = store.begin(store.next_id([seed; 16]), None).expect("begun");
            writer.append(&[1; 300_000]).expect("appended");
            writer
        };
        // As a killed process leaves them.
        std::mem::forget((begun(&one, 1), begun(&one, 2)));
        let writer = begun(&other, 3);
        assert_eq!((temporary(path, 1), temporary(path, 2)), (2, 1));
        let third = open(path, 3);
        assert_eq!(
            (temporary(path, 1), temporary(path, 2)),
            (2, 1),
            "a start deletes only its own"
        );
        third.clean_run(1).expect("cleaned");
        third.clean_run(4).expect("of a run that never wrote");
        assert_eq!((temporary(path, 1), temporary(path, 2)), (0, 1));
        drop(writer);
        assert_eq!(temporary(path, 2), 0);
        std::mem::forget(begun(&other, 4));
        open(path, 2);
        assert_eq!(temporary(path, 2), 0);
        assert_eq!(found(&third), BTreeSet::new());
    }

    #[test]
    fn a_directory_belongs_to_one_cluster() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let (one, other) = (open(directory.path(), 1), open(directory.path(), 2));
        let (id, wrong) = (ClusterId([1; 16]), ClusterId([2; 16]));
        assert_eq!(one.read_identity().expect("read"), None);
        assert!(one.create_identity(&id).expect("created"));
        assert!(other.create_identity(&id).expect("created already"));
        assert!(!other.create_identity(&wrong).expect("answered"));
        other.create_contents(&identity::encode(&wrong)).expect("nothing is replaced");
        assert_eq!(other.read_identity().expect("read"), Some(id));
        std::fs::write(directory.path().join(IDENTITY), "something else").expect("written");
        let error = one.read_identity().expect_err("foreign");
        assert!(error.to_string().contains("does not belong to a LiteIO cluster"), "{error}");
    }

    #[test]
    fn a_directory_that_is_missing_is_not_made() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("not mounted");
        let reason = SharedDirectoryBlobStore::open(&path, 1).expect_err("missing");
        assert!(reason.contains("mount it") && !reason.contains('\n'), "{reason}");
        assert!(!path.exists());
    }

    /// Whatever the caller would leave to its record: no other server has that.
    #[test]
    fn what_is_sealed_survives_a_power_cut() {
        for seal in [Seal::Now, Seal::Later, Seal::WithRecord, Seal::InLog] {
            let disk = Arc::new(SimulatedDisk::new(1));
            let on: Arc<SimulatedDisk> = Arc::clone(&disk);
            let store = SharedDirectoryBlobStore::on(on, String::new(), 1).expect("opened");
            let mut writer = store.begin(store.next_id([1; 16]), Some(4)).expect("begun");
            writer.append(b"body").expect("appended");
            let sealed = writer.seal(seal).expect("sealed");
            let after = Arc::new(disk.crash());
            let store = SharedDirectoryBlobStore::on(after, String::new(), 2).expect("opened");
            check_reads_back(&store, sealed.blob, b"body");
        }
    }
}
