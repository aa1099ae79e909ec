use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::{self, BufWriter, Read, Write},
    path::{Path, PathBuf},
};

use flate2::{Compression, GzBuilder};

use super::{Rank, Sink, StageBody};
use crate::Error;

/// Documents are staged below this folder, beside those in place, so that a rename does not cross file systems.
const STAGE: &str = "resourcesync/.stage";

/// Beyond so many files one `syncfs` is cheaper than an `fdatasync` for each.
const SYNC_EACH: usize = 32;

/// Puts documents into a folder that any web server can serve.
#[derive(Debug, Default)]
pub struct FolderSink {
    root: PathBuf,
    stage: PathBuf,
    gzip_twins: bool,
    staged: Vec<Staged>,
    counter: u64,
}

#[derive(Debug)]
struct Staged {
    rank: Rank,
    name: String,
    file: PathBuf,
    length: u64,
}

impl FolderSink {
    /// Documents go below `root`; with `gzip_twins` each XML document has a `.xml.gz` beside it. Of sinks with the
    /// same `purpose` one is at work at a time.
    pub fn new(root: impl Into<PathBuf>, purpose: &str, gzip_twins: bool) -> Self {
        let root = root.into();
        let stage = root.join(STAGE).join(purpose);
        Self { root, stage, gzip_twins, staged: Vec::new(), counter: 0 }
    }

    /// Opens what is staged under a name, to read it back.
    ///
    /// # Errors
    /// When nothing is, or it cannot be read.
    pub fn open_staged(&self, name: &str) -> Result<File, Error> {
        let staged = self.staged.iter().find(|staged| staged.name == name);
        let path = staged.map_or_else(|| self.root.join(name), |staged| staged.file.clone());
        File::open(&path).map_err(Error::read(path))
    }

    /// Whether nothing is staged.
    pub fn is_empty(&self) -> bool {
        self.staged.is_empty()
    }

    /// A path in the staging folder, which is emptied when the first one is asked for.
    fn stage_path(&mut self) -> Result<PathBuf, Error> {
        if self.counter == 0 {
            match fs::remove_dir_all(&self.stage) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(Error::write(&self.stage)(error));
                }
                _ => fs::create_dir_all(&self.stage).map_err(Error::write(&self.stage))?,
            }
        }
        self.counter += 1;
        Ok(self.stage.join(self.counter.to_string()))
    }

    fn stage_file(&mut self) -> Result<(PathBuf, File), Error> {
        let path = self.stage_path()?;
        let file = File::options().read(true).write(true).create_new(true).open(&path);
        Ok((path.clone(), file.map_err(Error::write(path))?))
    }

    fn take_in(&mut self, rank: Rank, name: &str, file: PathBuf) -> Result<u64, Error> {
        let length = fs::metadata(&file).map_err(Error::read(&file))?.len();
        self.staged.retain(|staged| staged.name != name);
        self.staged.push(Staged { rank, name: name.to_owned(), file, length });
        Ok(length)
    }

    fn stage_gzip(&mut self, rank: Rank, name: &str, original: &Path) -> Result<(), Error> {
        let (path, file) = self.stage_file()?;
        let compress = |mut from: File| -> io::Result<()> {
            // Without name and time, so that equal documents have equal twins.
            let mut gzip = GzBuilder::new().write(BufWriter::new(file), Compression::default());
            io::copy(&mut from, &mut gzip)?;
            gzip.finish()?.flush()
        };
        File::open(original).and_then(compress).map_err(Error::write(&path))?;
        self.take_in(rank, &format!("{name}.gz"), path).map(|_| ())
    }

    fn sync_staged(&self) -> Result<(), Error> {
        if self.staged.len() > SYNC_EACH {
            let root = File::open(&self.root).map_err(Error::read(&self.root))?;
            return rustix::fs::syncfs(&root).map_err(|error| Error::write(&self.root)(error.into()));
        }
        for staged in &self.staged {
            let file = File::open(&staged.file);
            file.and_then(|file| file.sync_data()).map_err(Error::write(&staged.file))?;
        }
        Ok(())
    }

    /// Makes the folders of these names, and returns all that are touched.
    fn make_folders<'a>(&self, names: impl Iterator<Item = &'a str>) -> Result<BTreeSet<PathBuf>, Error> {
        let mut folders = BTreeSet::new();
        for name in names {
            let target = self.root.join(name);
            for folder in target.ancestors().skip(1).take_while(|folder| folder.starts_with(&self.root)) {
                folders.insert(folder.to_owned());
            }
            if let Some(folder) = target.parent() {
                fs::create_dir_all(folder).map_err(Error::write(folder))?;
            }
        }
        Ok(folders)
    }
}

impl Sink for FolderSink {
    fn stage(&mut self, name: &str, rank: Rank, body: StageBody<'_>) -> Result<u64, Error> {
        let (path, mut file) = self.stage_file()?;
        body(&mut file)?;
        drop(file);
        if self.gzip_twins && has_twin(name) {
            self.stage_gzip(rank, name, &path)?;
        }
        self.take_in(rank, name, path)
    }

    fn preserve(&mut self, name: &str, under: &str) -> Result<Option<u64>, Error> {
        let path = self.stage_path()?;
        let in_place = self.root.join(name);
        // A document in place is never written to again, so a second name costs nothing.
        let linked = fs::hard_link(&in_place, &path).or_else(|_| fs::copy(&in_place, &path).map(drop));
        match linked {
            Ok(()) => self.take_in(Rank::Part, under, path).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::write(path)(error)),
        }
    }

    fn holds(&self, name: &str, length: u64) -> bool {
        if let Some(staged) = self.staged.iter().find(|staged| staged.name == name) {
            return staged.length == length;
        }
        let is_file = |name: &str| fs::metadata(self.root.join(name)).ok().filter(fs::Metadata::is_file);
        let twin = !self.gzip_twins || !has_twin(name) || is_file(&format!("{name}.gz")).is_some();
        twin && is_file(name).is_some_and(|metadata| metadata.len() == length)
    }

    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, Error> {
        let path = self.root.join(name);
        let mut bytes = Vec::new();
        match File::open(&path).and_then(|mut file| file.read_to_end(&mut bytes)) {
            Ok(_) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::read(path)(error)),
        }
    }

    fn commit(&mut self, remove: &[String]) -> Result<Vec<(String, u64)>, Error> {
        self.sync_staged()?;
        let folders = self.make_folders(self.staged.iter().map(|staged| staged.name.as_str()))?;
        let mut by_rank: BTreeMap<Rank, Vec<Staged>> = BTreeMap::new();
        for staged in self.staged.drain(..) {
            by_rank.entry(staged.rank).or_default().push(staged);
        }
        let mut placed = Vec::new();
        for staged in by_rank.into_values().flatten() {
            let target = self.root.join(&staged.name);
            fs::rename(&staged.file, &target).map_err(Error::write(&target))?;
            if !self.gzip_twins && has_twin(&staged.name) {
                // A twin from when they were wanted would go on to tell the old state.
                remove_document(&twin(&target))?;
            }
            placed.push((staged.name, staged.length));
        }
        for folder in folders {
            let opened = File::open(&folder);
            opened.and_then(|opened| opened.sync_all()).map_err(Error::write(&folder))?;
        }
        for name in remove {
            remove_document(&self.root.join(name))?;
            remove_document(&twin(&self.root.join(name)))?;
        }
        // What is left of the staging folder, a replaced document, goes with it or with the next publication.
        let _ = fs::remove_dir_all(&self.stage);
        let _ = fs::remove_dir(self.root.join(STAGE));
        self.counter = 0;
        Ok(placed)
    }
}

fn has_twin(name: &str) -> bool {
    name.ends_with(".xml")
}

fn twin(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".gz");
    name.into()
}

fn remove_document(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::write(path)(error)),
        _ => Ok(()),
    }
}
