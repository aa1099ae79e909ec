//! The storage of a copy: its folder, or object storage. The first run records which, and later runs keep it.

use std::sync::Arc;

use instep_objects::Bucket;

use crate::{
    CopyPlace, Error, Guard, ObjectLayout, SyncOptions,
    state::{CopyState, ReadState, StateError},
    store::{BucketNames, CopyStore, FolderStore, PackStore, StagingArea, Store, StoreError, random_name},
};

/// The setting that keeps the place of the bytes; without it they are in the folder of the copy.
const PLACE: &str = "store";

/// The setting that keeps the identity of the copy, which is a part of the keys of its objects.
const IDENTITY: &str = "copy";

/// Returns the object storage of a copy; `None` for one in a folder.
///
/// # Errors
/// If the state cannot be read, or has a value that no version writes.
pub(crate) fn place_of(state: &dyn ReadState) -> Result<Option<CopyPlace>, StateError> {
    let Some(text) = state.setting(PLACE)? else { return Ok(None) };
    let damaged = |what| StateError::Record { place: state.place(), name: PLACE.to_owned(), what };
    text.parse().map(Some).map_err(damaged)
}

/// Returns the storage of a copy that is only read.
pub(super) fn of_copy(
    folder: Arc<FolderStore>,
    state: &dyn ReadState,
    options: &SyncOptions,
) -> Result<CopyStore, Error> {
    let Some(place) = chosen(state, options)? else { return Ok((folder as Arc<dyn Store>).into()) };
    let identity = state.setting(IDENTITY)?.unwrap_or_else(random_name);
    let (store, _) = open(folder, &place, identity)?;
    Ok(store)
}

/// Returns the storage of a copy that is written, and records it if it is new.
pub(super) fn of_copy_that_is_written(
    folder: Arc<FolderStore>,
    state: &mut dyn CopyState,
    options: &SyncOptions,
) -> Result<CopyStore, Error> {
    let Some(place) = chosen(state, options)? else { return Ok((folder as Arc<dyn Store>).into()) };
    let known = state.setting(IDENTITY)?;
    let (store, bucket) = open(folder, &place, known.clone().unwrap_or_else(random_name))?;
    // Checked before anything is done, so that a bucket that cannot be used has no other effect than an error. A copy
    // that holds resources is skipped here, because its objects are looked for anyway.
    let is_looked_at = known.is_some() && !options.repair && !state.held_after(None, 1)?.is_empty();
    if !is_looked_at {
        let failed = |error| StoreError::of_bucket("list", "", &bucket, error);
        let first = match (&known, place.layout) {
            (None, ObjectLayout::Names) => bucket.first_below(""),
            _ => bucket.check().map(|()| None),
        };
        if let Some(first) = first.map_err(failed)? {
            let what = format!("{} is not a copy and has objects, {first} among them", place.place);
            return Err(Error::Refused { guard: Guard::UnknownObjects, what });
        }
    }
    if known.is_none() {
        let identity = store.packs().map_or_else(random_name, |packs| packs.identity().to_owned());
        state.set_setting(PLACE, &place.to_string())?;
        state.set_setting(IDENTITY, &identity)?;
    }
    Ok(store)
}

impl CopyPlace {
    /// Checks that the object storage can be used, without writing anything. Blocks.
    ///
    /// # Errors
    /// If it cannot be reached, or refuses.
    pub fn check(&self) -> Result<(), Error> {
        let opened = |source| StoreError::Bucket { doing: "open", place: self.place.to_string(), source };
        let bucket = Bucket::open(&self.place).map_err(opened)?;
        bucket.first_below("").map_err(|error| StoreError::of_bucket("list", "", &bucket, error))?;
        Ok(())
    }
}

/// Returns the place of the bytes for a run: that of the copy, or for a new copy the requested one.
fn chosen(state: &dyn ReadState, options: &SyncOptions) -> Result<Option<CopyPlace>, Error> {
    let usage = |what: String| Err(Error::Usage { what });
    let dir = options.dir.display();
    let place = match (place_of(state)?, &options.store) {
        (Some(known), Some(asked)) if known.to_string() != asked.to_string() => {
            return usage(format!("the bytes of the copy in {dir} are in {known}, and not in {asked}"));
        }
        (Some(known), _) => known,
        (None, Some(_)) if !state.held_after(None, 1)?.is_empty() => {
            return usage(format!(
                "{dir} holds a copy in files: choose another folder for the state of this one"
            ));
        }
        (None, Some(asked)) => asked.clone(),
        (None, None) => return Ok(None),
    };
    let cannot = |what| usage(format!("a copy in object storage cannot {what}"));
    match options {
        _ if options.adopt => cannot("adopt files"),
        _ if options.backup_dir.is_some() => {
            cannot("keep what it replaces as files; keep versions of the bucket")
        }
        _ => {
            let CopyPlace { place, layout } = place;
            Ok(Some(CopyPlace { place: place.with_retries(options.access.retries), layout }))
        }
    }
}

fn open(
    folder: Arc<FolderStore>,
    place: &CopyPlace,
    identity: String,
) -> Result<(CopyStore, Arc<Bucket>), Error> {
    let bucket = Bucket::open(&place.place).map_err(|source| StoreError::Bucket {
        doing: "open",
        place: place.place.to_string(),
        source,
    })?;
    let (bucket, staging) = (Arc::new(bucket), folder as Arc<dyn StagingArea>);
    let store = match place.layout {
        ObjectLayout::Names => {
            let names = Arc::new(BucketNames::new(Arc::clone(&staging), Arc::clone(&bucket)));
            CopyStore::Names { staging, names }
        }
        ObjectLayout::Packs => {
            CopyStore::Packs(Arc::new(PackStore::new(staging, Arc::clone(&bucket), identity)))
        }
    };
    Ok((store, bucket))
}
