use std::{
    fs::{File, OpenOptions},
    io,
    path::PathBuf,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

/// Where staged files are made, on the file system of the copy.
///
/// # Contract
/// Each name is given once in the life of a stage, and is a name of instep's own making: nothing of the network is in it.
pub trait Stage: Send + Sync {
    /// An empty file, open for reading and writing.
    ///
    /// # Errors
    /// When it cannot be made.
    fn create(&self) -> io::Result<StagedFile>;

    /// Removes a staged file that is not needed.
    fn discard(&self, name: &str);
}

/// A file on its way into the copy.
#[derive(Debug)]
pub struct StagedFile {
    /// The file.
    pub file: File,
    /// Its name on its stage.
    pub name: Box<str>,
}

/// A folder of numbered files.
#[derive(Debug)]
pub struct StageFolder {
    folder: PathBuf,
    next: AtomicU64,
}

impl StageFolder {
    /// A stage in a folder that exists and that nobody else stages in.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), next: AtomicU64::new(0) }
    }
}

impl Stage for StageFolder {
    fn create(&self) -> io::Result<StagedFile> {
        let name = format!("{:x}", self.next.fetch_add(1, Relaxed)).into_boxed_str();
        let path = self.folder.join(&*name);
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
        Ok(StagedFile { file, name })
    }

    fn discard(&self, name: &str) {
        // What cannot be removed now is swept when the next run starts.
        let _ = std::fs::remove_file(self.folder.join(name));
    }
}
