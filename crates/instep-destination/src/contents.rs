//! Read access to a copy, for applications that use it beside the runs that maintain it.

mod as_of;

use std::{
    io::{self, Read},
    path::{Path, PathBuf},
    sync::OnceLock,
};

use instep_store::RootFolder;
use instep_warc::{CdxjLine, RecordPlace};

pub use as_of::ResourceAt;

use crate::{
    CopyLocation, CopyPlace, Error,
    map::CopyPath,
    run::{LocalCopy, storage},
    state::{HeldAt, HeldResource, ReadState},
    store::{ObjectsAtRest, PackSpans, StoreError},
    web_archive::capture_of,
};

/// A function that receives the bytes of a resource, with its position among the requested ones.
type WithBytes<'a> = dyn FnMut(usize, Result<Box<dyn Read + Send>, Error>) -> bool + 'a;

/// A function that receives the line of an index for a resource, with its position among the requested ones.
type WithLine<'a> = dyn FnMut(usize, Result<Option<CdxjLine>, Error>) -> bool + 'a;

/// The resources of a copy as its state records them: each was verified when it arrived, and has its final name.
///
/// A copy can be read while a run changes it. A reader sees what was committed when its reading began. One thread uses a
/// value at a time: open one for each.
///
/// ```no_run
/// use instep_destination::Contents;
///
/// let contents = Contents::open("/srv/copy".as_ref())?;
/// contents.by_path(&mut |held| {
///     println!("{} is a copy of {}", held.path.as_str(), held.uri);
///     true
/// })?;
/// # Ok::<(), instep_destination::Error>(())
/// ```
#[derive(Debug)]
pub struct Contents {
    folder: PathBuf,
    state: Box<dyn ReadState>,
    place: Option<CopyPlace>,
    /// The object storage, which is opened when the first resource is read.
    objects: OnceLock<ObjectsAtRest>,
}

impl Contents {
    /// Returns `true` if a folder holds a copy.
    pub fn are_at(folder: &Path) -> bool {
        LocalCopy::is_at(folder)
    }

    /// Opens the copy in a folder for reading.
    ///
    /// # Errors
    /// If the folder holds no copy, or the state cannot be read.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        Self::open_at(&folder.into())
    }

    /// Opens a copy for reading whose state may be in PostgreSQL, also on a machine that has never run it.
    ///
    /// # Errors
    /// If there is no copy, or the state cannot be read.
    pub fn open_at(copy: &CopyLocation) -> Result<Self, Error> {
        Self::of_state(&copy.dir, LocalCopy::state_at(copy)?.open_beside()?)
    }

    /// Opens a copy for reading whose folder may be new although its state is not; `None` if there is no copy yet.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub(crate) fn find(copy: &CopyLocation) -> Result<Option<Self>, Error> {
        if copy.state.is_none() && !Self::are_at(&copy.dir) {
            return Ok(None);
        }
        match LocalCopy::state_at(copy)?.open_beside() {
            Err(error) if error.is_absence() => Ok(None),
            state => Self::of_state(&copy.dir, state?).map(Some),
        }
    }

    fn of_state(folder: &Path, state: Box<dyn ReadState>) -> Result<Self, Error> {
        let place = storage::place_of(&*state)?;
        Ok(Self { folder: folder.to_owned(), state, place, objects: OnceLock::new() })
    }

    /// Returns the folder of the copy.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the object storage that has the bytes; `None` if they are in the folder.
    pub fn place(&self) -> Option<&CopyPlace> {
        self.place.as_ref()
    }

    /// Reads the bytes of a resource, in any store. Blocks.
    ///
    /// # Errors
    /// If they are missing or damaged, or storage fails.
    pub fn read(&self, held: &HeldResource) -> Result<Box<dyn Read + Send>, Error> {
        self.read_within(&mut PackSpans::default(), held)
    }

    /// Reads the bytes of resources, adjacent ones with one request. Passes them to `each` in an order of the
    /// storage, until it returns `false`. Blocks.
    pub fn read_all(&self, all: &[HeldResource], each: &mut WithBytes<'_>) {
        let (mut spans, order) = PackSpans::of(all.iter().map(|held| &held.place));
        order.into_iter().all(|index| each(index, self.read_within(&mut spans, &all[index])));
    }

    /// Passes to `each` the line of a web archive index for each resource, until it returns `false`. The line names the
    /// record that has the bytes by the key of its pack; it is `None` if the resource is in no pack. Blocks.
    pub fn captures(&self, all: &[HeldResource], each: &mut WithLine<'_>) {
        let (mut spans, order) = PackSpans::of(all.iter().map(|held| &held.place));
        order.into_iter().all(|index| each(index, self.capture(&mut spans, &all[index])));
    }

    fn capture(&self, spans: &mut PackSpans, held: &HeldResource) -> Result<Option<CdxjLine>, Error> {
        let (Some(place), HeldAt::Object { key, offset, length }) = (&self.place, &held.place) else {
            return Ok(None);
        };
        let Some(member) = self.objects(place)?.read_member(spans, &held.place)? else { return Ok(None) };
        let damaged = |what: String| {
            let damaged = io::Error::new(io::ErrorKind::InvalidData, what);
            Error::from(StoreError::io("read", format!("{key} at byte {offset}"), damaged))
        };
        let line = capture_of(&member, RecordPlace { file: key, offset: *offset, length: *length })
            .map_err(|error| damaged(error.to_string()))?;
        line.map(Some).ok_or_else(|| damaged("there is no record".to_owned()))
    }

    fn read_within(&self, spans: &mut PackSpans, held: &HeldResource) -> Result<Box<dyn Read + Send>, Error> {
        let failed = |error| StoreError::of("read", held.path.as_str(), error);
        let Some(place) = &self.place else {
            let root = RootFolder::open(&self.folder).map_err(failed)?;
            return Ok(Box::new(root.file(held.path.as_str()).map_err(failed)?));
        };
        Ok(self.objects(place)?.read(spans, &held.path, &held.place)?)
    }

    fn objects(&self, place: &CopyPlace) -> Result<&ObjectsAtRest, Error> {
        if let Some(objects) = self.objects.get() {
            return Ok(objects);
        }
        let opened = ObjectsAtRest::open(&place.place)?;
        Ok(self.objects.get_or_init(|| opened))
    }

    /// Returns `true` if a baseline synchronization of at least one set was completed.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub fn are_complete(&self) -> Result<bool, Error> {
        for (set, _) in self.state.sets()? {
            if self.state.checkpoint(set)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Visits the held resources in the byte order of their paths until `each` returns `false`. Versions kept beside
    /// the copy are left out. Memory does not grow with the number of resources.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub fn by_path(&self, each: &mut dyn FnMut(HeldResource) -> bool) -> Result<(), Error> {
        Ok(self.state.held_by_path(&mut |held| held.is_version() || each(held))?)
    }

    /// Returns the resource at a path; `None` if none is held there.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub fn at(&self, path: &str) -> Result<Option<HeldResource>, Error> {
        let Some(path) = CopyPath::from_state(path) else { return Ok(None) };
        match self.state.held_at(&path)? {
            None if self.folder.join(path.as_str()).is_file() => Ok(self.state.held_aside_at(&path)?),
            held => Ok(held.filter(|held| !held.is_version())),
        }
    }

    /// Returns the resource with a URI; `None` if it is not held.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub fn of(&self, uri: &str) -> Result<Option<HeldResource>, Error> {
        Ok(self.state.held(uri)?)
    }
}
