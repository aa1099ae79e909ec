//! Documents in a folder that any web server can serve: staged beside each other, synced as a group, renamed in order.

#[cfg(feature = "postgres")]
mod copies;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{File, Permissions},
    io::{self, Read},
    os::{fd::OwnedFd, unix::fs::PermissionsExt},
    path::PathBuf,
};

use instep_store::{RootFolder, SpaceWatch, StagedName, Staging, sync_group};

use super::{
    Rank, Sink, StageBody,
    open_folder::{OpenFolder, length_of, split, stage_folder},
    staged::{StagedDocument, fill},
    twins::{TwinRule, compress, has_twin, twin},
};
use crate::Error;

/// At most this many documents or folders are synced separately; more are synced with their file system. Most
/// publications write four or five documents, and should not wait for other writes to the same disk.
const MOST_SYNCED_ONE_BY_ONE: usize = 32;

/// Everybody may read the documents, with any umask of the process: a web server usually runs as another user (C18).
/// Access to the folder of the documents is a decision of the operator.
const READABLE: u32 = 0o644;

/// Puts documents into a folder that any web server can serve. Beneath the folder no link is followed, even one that
/// an attacker placed.
#[derive(Debug, Default)]
pub(crate) struct FolderSink {
    path: PathBuf,
    purpose: String,
    twins: TwinRule,
    /// `None` until something is staged.
    open: Option<OpenFolder>,
    staged: Vec<StagedDocument>,
    /// Over all packages that are staged.
    space: SpaceWatch,
}

impl FolderSink {
    /// Returns a sink that writes documents below `path`; with `gzip_twins` each XML document has a `.xml.gz` beside it.
    /// Only one sink with the same `purpose` may be at work at a time.
    pub(crate) fn new(path: impl Into<PathBuf>, purpose: &str, gzip_twins: bool) -> Self {
        let twins = if gzip_twins { TwinRule::Made } else { TwinRule::Removed };
        let (path, purpose) = (path.into(), purpose.to_owned());
        Self { path, purpose, twins, open: None, staged: Vec::new(), space: SpaceWatch::default() }
    }

    /// Returns the same sink, whose packages leave this many bytes of the disk free.
    #[cfg(test)]
    pub(crate) fn with_reserve(mut self, reserve: u64) -> Self {
        self.space = SpaceWatch::new(Some(reserve));
        self
    }

    /// Opens the staged document with a name, otherwise the one in place, to read it back.
    ///
    /// # Errors
    /// If there is neither, or it cannot be read.
    pub(crate) fn open_staged(&self, name: &str) -> Result<File, Error> {
        let staged = self.open.as_ref().zip(self.staged.iter().find(|staged| staged.name == name));
        let file = match staged {
            Some((open, staged)) => open.staging.read(staged.number),
            None => RootFolder::open(&self.path).and_then(|root| root.entry(name)),
        };
        file.map_err(Error::read(self.path.join(name)))
    }

    /// Returns `true` if nothing is staged.
    pub(crate) fn is_empty(&self) -> bool {
        self.staged.is_empty()
    }

    /// Returns the names of the staged documents.
    pub(crate) fn staged(&self) -> impl Iterator<Item = &str> {
        self.staged.iter().map(|staged| staged.name.as_str())
    }

    /// Returns the staged documents with their ranks, in the order in which they are put in place.
    pub(crate) fn in_order(&self) -> Vec<(Rank, &str)> {
        let mut staged: Vec<_> = self.staged.iter().map(|one| (one.rank, one.name.as_str())).collect();
        staged.sort_by_key(|(rank, _)| *rank);
        staged
    }

    /// Returns the names of gzip twins that go when the staged documents and the removals of some others come into effect.
    #[cfg(feature = "postgres")]
    pub(crate) fn twins_removed(&self, remove: &[String]) -> Vec<String> {
        let replaced = self.staged().filter(|_| self.twins == TwinRule::Removed);
        replaced.chain(remove.iter().map(String::as_str)).filter(|name| has_twin(name)).map(twin).collect()
    }

    /// Opens the folder, unless it is open.
    fn open(&mut self) -> Result<&OpenFolder, Error> {
        if self.open.is_none() {
            let opened = OpenFolder::open(&self.path, &self.purpose);
            let stage = self.path.join(stage_folder(&self.purpose));
            self.open = Some(opened.map_err(Error::write(stage))?);
        }
        // It was opened above, so the error never occurs.
        self.open.as_ref().ok_or_else(|| Error::write(&self.path)(io::ErrorKind::NotFound.into()))
    }

    /// Stages a file that `fill` writes.
    fn stage_file(
        &mut self,
        name: &str,
        fill: impl FnOnce(&Staging, &mut File) -> Result<(), Error>,
    ) -> Result<(StagedName, u64), Error> {
        let path = self.path.join(name);
        let staging = &self.open()?.staging;
        let (number, mut file) = staging.create().map_err(Error::write(&path))?;
        let filled = fill(staging, &mut file).and_then(|()| {
            file.set_permissions(Permissions::from_mode(READABLE)).map_err(Error::write(&path))?;
            Ok(file.metadata().map_err(Error::write(&path))?.len())
        });
        if filled.is_err() {
            // On a full disk its bytes would keep documents from being written.
            let _ = staging.discard(number);
        }
        filled.map(|length| (number, length))
    }

    /// Takes a staged file in under its name. One that was staged before under that name is removed at once: a package of
    /// files that change is staged again and again.
    fn take_in(&mut self, rank: Rank, name: &str, (number, length): (StagedName, u64)) -> u64 {
        self.take_out(name);
        self.staged.push(StagedDocument { rank, name: name.to_owned(), number, length });
        length
    }

    /// Takes a document out that is staged, without its twin: it is not put in place.
    pub(crate) fn take_out(&mut self, name: &str) {
        if let Some(place) = self.staged.iter().position(|staged| staged.name == name) {
            let taken = self.staged.remove(place);
            self.discard(taken.number);
        }
    }

    /// Removes a staged file. One that cannot be removed costs only space, until the staging is emptied.
    fn discard(&self, number: StagedName) {
        if let Some(open) = &self.open {
            let _ = open.staging.discard(number);
        }
    }

    fn stage_gzip(&mut self, rank: Rank, name: &str, original: StagedName) -> Result<(), Error> {
        let twin = twin(name);
        let path = self.path.join(&twin);
        let staged = self.stage_file(&twin, |staging, file| {
            staging.read(original).and_then(|from| compress(from, file)).map_err(Error::write(path))
        })?;
        self.take_in(rank, &twin, staged);
        Ok(())
    }

    /// Creates the folders of the staged documents; returns them open, and the names of all that have new names in
    /// them.
    fn make_folders(
        &self,
        open: &OpenFolder,
    ) -> Result<(BTreeMap<String, OwnedFd>, BTreeSet<String>), Error> {
        let (mut folders, mut touched) = (BTreeMap::new(), BTreeSet::new());
        for staged in &self.staged {
            let (folder, _) = split(&staged.name);
            if !folders.contains_key(folder) {
                let mut made = Vec::new();
                let opened = open.make_folder(folder, &mut made).and_then(|()| open.root.folder(folder));
                touched.extend(made.iter().map(|new| split(new).0.to_owned()));
                folders.insert(folder.to_owned(), opened.map_err(Error::write(self.path.join(folder)))?);
                touched.insert(folder.to_owned());
            }
        }
        Ok((folders, touched))
    }

    fn remove(&self, root: &RootFolder, name: &str) -> Result<(), Error> {
        root.remove_file(name).map_err(Error::write(self.path.join(name)))
    }

    /// Puts the staged documents in place, in the order of the ranks, durably.
    fn place(&mut self, open: &OpenFolder) -> Result<Vec<(String, u64)>, Error> {
        let sync = |staged: &StagedDocument| open.staging.sync(staged.number);
        sync_group(self.staged.iter(), MOST_SYNCED_ONE_BY_ONE, &open.root, sync)
            .map_err(Error::write(&self.path))?;
        let (folders, touched) = self.make_folders(open)?;
        let mut staged = std::mem::take(&mut self.staged);
        staged.sort_by_key(|staged| staged.rank);
        let mut placed = Vec::with_capacity(staged.len());
        for StagedDocument { name, number, length, .. } in staged {
            let (folder, last) = split(&name);
            if let Some(folder) = folders.get(folder) {
                open.staging.place(number, folder, last).map_err(Error::write(self.path.join(&name)))?;
            }
            if self.twins == TwinRule::Removed && has_twin(&name) {
                // A twin left by a publication with twins would continue to show the old state.
                self.remove(&open.root, &twin(&name))?;
            }
            placed.push((name, length));
        }
        let sync = |folder: &String| open.root.entry(folder).and_then(|folder| folder.sync_all());
        sync_group(touched.iter(), MOST_SYNCED_ONE_BY_ONE, &open.root, sync)
            .map_err(Error::write(&self.path))?;
        Ok(placed)
    }
}

impl Sink for FolderSink {
    fn stage(&mut self, name: &str, rank: Rank, body: StageBody<'_>) -> Result<u64, Error> {
        let mut space = self.space;
        let staged = self.stage_file(name, |_, file| fill(name, file, body, &mut space))?;
        self.space = space;
        if self.twins == TwinRule::Made && has_twin(name) {
            self.stage_gzip(rank, name, staged.0)?;
        }
        Ok(self.take_in(rank, name, staged))
    }

    fn preserve(&mut self, name: &str, under: &str) -> Result<Option<u64>, Error> {
        let path = self.path.join(name);
        let open = self.open()?;
        let mut in_place = match open.root.file(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file.map_err(Error::read(&path))?,
        };
        let (folder, last) = split(name);
        // A document in place is never written to again, so a second name costs nothing.
        let linked = open.root.folder(folder).and_then(|folder| open.staging.link_in(folder, last));
        let staged = match linked {
            Ok(number) => (number, in_place.limit()),
            Err(_) => self.stage_file(under, |_, file| {
                io::copy(&mut in_place, file).map(drop).map_err(Error::write(path))
            })?,
        };
        Ok(Some(self.take_in(Rank::Part, under, staged)))
    }

    fn holds(&self, name: &str, length: u64) -> Result<bool, Error> {
        if let Some(staged) = self.staged.iter().find(|staged| staged.name == name) {
            return Ok(staged.length == length);
        }
        let in_place = |name: &str| length_of(&self.path, name).map_err(Error::read(self.path.join(name)));
        let needs_twin = self.twins == TwinRule::Made && has_twin(name);
        Ok((!needs_twin || in_place(&twin(name))?.is_some()) && in_place(name)? == Some(length))
    }

    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, Error> {
        let mut bytes = Vec::new();
        let read = RootFolder::open(&self.path).and_then(|root| root.file(name)?.read_to_end(&mut bytes));
        match read {
            Ok(_) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::read(self.path.join(name))(error)),
        }
    }

    fn commit(&mut self, remove: &[String]) -> Result<Vec<(String, u64)>, Error> {
        self.open()?;
        let Some(open) = self.open.take() else { return Ok(Vec::new()) };
        let placed = self.place(&open)?;
        for name in remove {
            self.remove(&open.root, name)?;
            if self.twins != TwinRule::AsNamed {
                self.remove(&open.root, &twin(name))?;
            }
        }
        open.discard();
        Ok(placed)
    }
}

impl Drop for FolderSink {
    /// Removes staged documents that were not put in place, as after a failure.
    fn drop(&mut self) {
        if let Some(open) = self.open.take() {
            open.discard();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use instep_store::Shortage;

    use super::*;

    #[test]
    fn o462_a_document_that_is_staged_again_takes_no_second_place_on_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let mut sink = FolderSink::new(folder.path(), "dumps", true);
        for attempt in 0..5_u8 {
            for name in ["resourcesync/dump.zip", "resourcesync/dump.xml"] {
                let mut write =
                    |file: &mut dyn Write| file.write_all(&[attempt]).map_err(Error::write(folder.path()));
                sink.write(name, Rank::Part, &mut write).unwrap();
            }
        }
        let stage = folder.path().join(stage_folder("dumps"));
        // The package, and the document with its twin.
        assert_eq!(std::fs::read_dir(stage).unwrap().count(), 3);
        sink.commit(&[]).unwrap();
        assert_eq!(std::fs::read(folder.path().join("resourcesync/dump.zip")).unwrap(), [4]);
    }

    #[test]
    fn o981_o937_packages_leave_a_part_of_the_disk_free_and_lists_are_written_all_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let mut sink = FolderSink::new(folder.path(), "lists", false);
        sink.space = SpaceWatch::new(Some(u64::MAX));
        let mut stage = |name: &str, length: usize| {
            let mut write =
                |file: &mut dyn Write| file.write_all(&vec![b'x'; length]).map_err(Error::write(name));
            sink.write(name, Rank::Part, &mut write)
        };
        stage("resourcesync/changelist.xml", 9 << 20).unwrap();
        stage("resourcesync/resourcelist.xml", 9 << 20).unwrap();
        let Error::Write { source, .. } = stage("resourcesync/dump.zip", 9 << 20).unwrap_err() else {
            panic!("another error")
        };
        assert_eq!(Shortage::behind(&source), Some(Shortage::Room));
        assert!(source.to_string().contains("make room"), "{source}");
    }

    #[test]
    fn o466_a_fault_that_hides_a_document_does_not_count_as_its_absence() {
        let folder = tempfile::tempdir().unwrap();
        let sink = FolderSink::new(folder.path().join("out"), "lists", false);
        assert!(!sink.holds("resourcesync/dump.zip", 1).unwrap());
        // A name with a NUL cannot be looked for, whatever there is.
        assert!(
            sink.holds("resourcesync/dump\0.zip", 1).is_ok(),
            "without a folder it is certainly not there"
        );
        std::fs::create_dir_all(folder.path().join("out/resourcesync")).unwrap();
        assert!(!sink.holds("resourcesync/dump.zip", 1).unwrap());
        assert!(sink.holds("resourcesync/dump\0.zip", 1).is_err());
    }
}
