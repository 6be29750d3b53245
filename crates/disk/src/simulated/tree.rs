//! The names of the simulated disk: the names that readers see, the durable ones, and the changes
//! between the two.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::sync::Arc;

use rustix::io::Errno;

use super::generator::{Generator, mix};
use super::node::{Mood, Node, NodeState};

#[derive(Clone, Debug)]
pub(super) enum Entry {
    File(Arc<Node>),
    Directory,
}

type Names = BTreeMap<Arc<str>, Entry>;

#[derive(Clone, Debug, Default)]
struct Directory {
    current: Names,
    durable: Names,
    /// Changes that lead from `durable` to `current`, in order.
    pending: Vec<NameChange>,
}

#[derive(Clone, Debug)]
struct NameChange {
    id: u64,
    name: Arc<str>,
    /// The new entry; `None` removes the name.
    entry: Option<Entry>,
    /// The change that must be durable before this one: a rename does not remove the old name
    /// before the new one exists.
    only_after: Option<u64>,
}

/// All directories by path. Directories are neither renamed nor removed, so every path in the map
/// is visible to readers.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    directories: BTreeMap<String, Directory>,
    next_change: u64,
}

impl Tree {
    pub(super) fn new() -> Self {
        Self {
            directories: BTreeMap::from([(String::new(), Directory::default())]),
            next_change: 0,
        }
    }

    /// The entry at `path`; `None` if the parent exists and the name does not.
    pub(super) fn find(&self, path: &str) -> io::Result<Option<Entry>> {
        let (parent, name) = split(path);
        Ok(self.directory(parent)?.current.get(name).cloned())
    }

    /// The file at `path`, which must exist.
    pub(super) fn file(&self, path: &str) -> io::Result<Arc<Node>> {
        match self.find(path)? {
            Some(Entry::File(node)) => Ok(node),
            Some(Entry::Directory) => Err(Errno::ISDIR.into()),
            None => Err(Errno::NOENT.into()),
        }
    }

    /// Puts `entry` at `path`, whose parent exists, and returns the previous entry.
    pub(super) fn put(&mut self, path: &str, entry: Option<Entry>) -> io::Result<Option<Entry>> {
        self.change(path, entry, None)
    }

    /// Renames a file and returns the file that it replaced.
    pub(super) fn rename(&mut self, from: &str, to: &str) -> io::Result<Option<Arc<Node>>> {
        let Some(entry) = self.find(from)? else { return Err(Errno::NOENT.into()) };
        let Entry::File(node) = &entry else {
            let message = "the simulated disk renames files only";
            return Err(io::Error::new(io::ErrorKind::Unsupported, message));
        };
        let replaced = match self.find(to)? {
            Some(Entry::Directory) => return Err(Errno::ISDIR.into()),
            // Two names of one file: POSIX requires that nothing happens.
            Some(Entry::File(other)) if Arc::ptr_eq(&other, node) => return Ok(None),
            Some(Entry::File(other)) => Some(other),
            None => None,
        };
        let new_name = self.next_change;
        self.change(to, Some(entry), None)?;
        self.change(from, None, Some(new_name))?;
        Ok(replaced)
    }

    pub(super) fn create_directory(&mut self, path: &str) -> io::Result<()> {
        match self.find(path)? {
            Some(Entry::Directory) => Ok(()),
            Some(Entry::File(_)) => Err(Errno::NOTDIR.into()),
            None => {
                self.put(path, Some(Entry::Directory))?;
                self.directories.insert(path.to_owned(), Directory::default());
                Ok(())
            }
        }
    }

    /// The names in `path`, each with `true` for a directory.
    pub(super) fn list(&self, path: &str) -> io::Result<impl Iterator<Item = (&str, bool)>> {
        let names = &self.directory(path)?.current;
        Ok(names.iter().map(|(name, entry)| (&**name, matches!(entry, Entry::Directory))))
    }

    pub(super) fn sync(&mut self, path: &str) -> io::Result<()> {
        let directory = self.directory_mut(path)?;
        for change in directory.pending.drain(..) {
            apply(&mut directory.durable, change.name, change.entry);
        }
        Ok(())
    }

    /// A sync that fails half way: a prefix of the changes is durable, and the others may still
    /// become so.
    pub(super) fn fail_sync(&mut self, path: &str, generator: &mut Generator) -> io::Result<()> {
        let directory = self.directory_mut(path)?;
        let count = generator.below(directory.pending.len() as u64 + 1) as usize;
        let changes = directory.pending[..count].to_vec();
        // The prefix ends before a removal whose new name, in another directory, is not durable
        // yet.
        let is_too_early =
            |change: &NameChange| change.only_after.is_some_and(|id| self.is_pending(id));
        let count = changes.iter().position(is_too_early).unwrap_or(count);
        let directory = self.directory_mut(path)?;
        for change in directory.pending.drain(..count) {
            apply(&mut directory.durable, change.name, change.entry);
        }
        Ok(())
    }

    /// Syncs all files that have a name, then all directories.
    pub(super) fn sync_all(&mut self) -> io::Result<()> {
        for directory in self.directories.values() {
            files(&directory.current).for_each(|node| node.state.lock().sync());
        }
        let paths: Vec<_> = self.directories.keys().cloned().collect();
        paths.iter().try_for_each(|path| self.sync(path))
    }

    /// A sync of everything that fails half way: each file and each directory fails by itself.
    pub(super) fn fail_sync_all(&mut self, generator: &mut Generator) -> io::Result<()> {
        for directory in self.directories.values() {
            files(&directory.current).for_each(|node| node.state.lock().fail_sync(generator));
        }
        let paths: Vec<_> = self.directories.keys().cloned().collect();
        paths.iter().try_for_each(|path| self.fail_sync(path, generator))
    }

    /// The tree that the next process finds, with its own copies of the files.
    pub(super) fn after_kill(&self) -> Self {
        let mut next = self.clone();
        // One copy per file, however many names, durable or not, refer to it.
        let mut copies: HashMap<u64, Arc<Node>> = HashMap::new();
        let mut adopt = |entry: &mut Entry| {
            if let Entry::File(node) = entry {
                let copy = copies
                    .entry(node.id)
                    .or_insert_with(|| Node::new(node.id, node.state.lock().after_kill()));
                *node = Arc::clone(copy);
            }
        };
        for directory in next.directories.values_mut() {
            directory.current.values_mut().for_each(&mut adopt);
            directory.durable.values_mut().for_each(&mut adopt);
            directory
                .pending
                .iter_mut()
                .filter_map(|change| change.entry.as_mut())
                .for_each(&mut adopt);
            for node in files(&directory.current) {
                node.state.lock().names += 1;
            }
        }
        next
    }

    /// The tree that a power cut leaves, built from the root down: any surviving names with any
    /// surviving content. Directories whose name is lost are never visited.
    pub(super) fn after_power_cut(&self, generator: &mut Generator) -> Self {
        let fate = Fate::draw(Mood::draw(generator), self, generator);
        let content_mood = Mood::draw(generator);
        let mut next = Self { next_change: self.next_change, ..Self::new() };
        let mut copies: HashMap<u64, Arc<Node>> = HashMap::new();
        let mut paths = vec![String::new()];
        while let Some(path) = paths.pop() {
            let Some(directory) = self.directories.get(&path) else { continue };
            let mut names = directory.durable.clone();
            for change in &directory.pending {
                if fate.keeps(change) {
                    apply(&mut names, change.name.clone(), change.entry.clone());
                }
            }
            for (name, entry) in &mut names {
                match entry {
                    Entry::Directory if path.is_empty() => paths.push(name.to_string()),
                    Entry::Directory => paths.push(format!("{path}/{name}")),
                    Entry::File(node) => {
                        let copy = copies.entry(node.id).or_insert_with(|| {
                            let state = node.state.lock();
                            let content = state.after_power_cut(content_mood, generator);
                            Node::new(node.id, NodeState::found(content))
                        });
                        copy.state.lock().names += 1;
                        *node = Arc::clone(copy);
                    }
                }
            }
            let found = Directory { current: names.clone(), durable: names, pending: Vec::new() };
            next.directories.insert(path, found);
        }
        next
    }

    /// Bytes allocated by all files that have a name.
    pub(super) fn allocated_bytes(&self) -> u64 {
        let mut counted = HashSet::new();
        let all = self.directories.values().flat_map(|directory| files(&directory.current));
        all.filter(|node| counted.insert(node.id))
            .map(|node| node.state.lock().current.allocated_bytes())
            .sum()
    }

    fn change(
        &mut self,
        path: &str,
        entry: Option<Entry>,
        only_after: Option<u64>,
    ) -> io::Result<Option<Entry>> {
        let (parent, name) = split(path);
        let id = self.next_change;
        let directory = self.directory_mut(parent)?;
        let name: Arc<str> = Arc::from(name);
        directory.pending.push(NameChange {
            id,
            name: name.clone(),
            entry: entry.clone(),
            only_after,
        });
        let replaced = apply(&mut directory.current, name, entry);
        self.next_change += 1;
        Ok(replaced)
    }

    fn is_pending(&self, id: u64) -> bool {
        let mut pending = self.directories.values().flat_map(|directory| &directory.pending);
        pending.any(|change| change.id == id)
    }

    fn directory(&self, path: &str) -> io::Result<&Directory> {
        self.directories.get(path).ok_or_else(|| self.why_no_directory(path))
    }

    fn directory_mut(&mut self, path: &str) -> io::Result<&mut Directory> {
        if !self.directories.contains_key(path) {
            return Err(self.why_no_directory(path));
        }
        Ok(self.directories.entry(path.to_owned()).or_default())
    }

    fn why_no_directory(&self, path: &str) -> io::Error {
        let mut ends = path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
        let is_file = |end: usize| {
            let (parent, name) = split(&path[..end]);
            let names = self.directories.get(parent).map(|directory| &directory.current);
            matches!(names.and_then(|names| names.get(name)), Some(Entry::File(_)))
        };
        if ends.any(is_file) { Errno::NOTDIR.into() } else { Errno::NOENT.into() }
    }
}

/// The choice of pending name changes that a power cut keeps. It is a function of the change's id,
/// so that the two halves of a rename, in two directories, agree.
struct Fate {
    mood: Mood,
    seed: u64,
    /// With a journal, changes survive in their order: the ones before this id. `None` for a file
    /// system without one.
    journal_end: Option<u64>,
}

impl Fate {
    fn draw(mood: Mood, tree: &Tree, generator: &mut Generator) -> Self {
        let pending = tree.directories.values().flat_map(|directory| &directory.pending);
        let first = pending.map(|change| change.id).min().unwrap_or(tree.next_change);
        let journal_end = first + generator.below(tree.next_change - first + 1);
        let has_journal = generator.coin();
        let seed = generator.next();
        Self { mood, seed, journal_end: has_journal.then_some(journal_end) }
    }

    fn keeps(&self, change: &NameChange) -> bool {
        self.keeps_id(change.id) && change.only_after.is_none_or(|id| self.keeps_id(id))
    }

    fn keeps_id(&self, id: u64) -> bool {
        match (self.mood, self.journal_end) {
            (Mood::Lose, _) => false,
            (Mood::Keep, _) => true,
            (Mood::Mix, Some(end)) => id < end,
            (Mood::Mix, None) => mix(self.seed ^ mix(id)) & 1 == 1,
        }
    }
}

fn apply(names: &mut Names, name: Arc<str>, entry: Option<Entry>) -> Option<Entry> {
    match entry {
        Some(entry) => names.insert(name, entry),
        None => names.remove(&name),
    }
}

fn files(names: &Names) -> impl Iterator<Item = &Arc<Node>> {
    names.values().filter_map(|entry| match entry {
        Entry::File(node) => Some(node),
        Entry::Directory => None,
    })
}

fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}
