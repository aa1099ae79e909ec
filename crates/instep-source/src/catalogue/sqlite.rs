//! The catalogue in an SQLite file.

mod idle;
mod lookup;
mod moves;
mod reader;
mod row;
mod rows;
mod schema;
mod versions;
mod writer;

use std::{path::Path, sync::Arc};

use super::{
    CatalogueError, Head,
    engine::{CatalogueEngine, ReadCatalogue},
};
use idle::{CACHE_KIB, IdleConnections};
use reader::FileReader;
use row::read_clock;
use writer::FileWriter;

/// A file, and the connections that read it.
#[derive(Debug)]
pub(super) struct CatalogueFile {
    path: Box<Path>,
    idle: Arc<IdleConnections>,
}

impl CatalogueFile {
    /// Opens the file for writing, and creates it if there is none. A file of an earlier version is first copied,
    /// then migrated. Also returns the last datetime that was assigned.
    ///
    /// # Errors
    /// If the file cannot be opened, is not a catalogue of instep, or was written by a later version.
    pub(super) fn open(path: &Path) -> Result<(Self, FileWriter, i64), CatalogueError> {
        let connection = schema::SCHEMA.open(path)?;
        let clock = read_clock(&connection)?;
        Ok((Self::at(path), FileWriter::new(connection, None), clock))
    }

    /// Opens the file for reading only, also while another process writes it. Every write fails.
    ///
    /// # Errors
    /// If there is no file, or its schema is not the present one.
    pub(super) fn open_beside(path: &Path) -> Result<(Self, FileWriter, i64), CatalogueError> {
        let beside = schema::SCHEMA.open_beside(path)?;
        // A reader has no writing connection: this one takes its place.
        let connection = beside.connect(CACHE_KIB)?;
        let clock = read_clock(&connection)?;
        Ok((Self::at(beside.path()), FileWriter::new(connection, Some(beside)), clock))
    }

    fn at(path: &Path) -> Self {
        Self { path: path.into(), idle: Arc::default() }
    }

    fn connect(&self) -> Result<FileReader, CatalogueError> {
        Ok(FileReader::new(self.idle.take(&self.path)?, Arc::clone(&self.idle)))
    }
}

impl CatalogueEngine for CatalogueFile {
    fn reader(&self) -> Result<Box<dyn ReadCatalogue>, CatalogueError> {
        Ok(Box::new(self.connect()?))
    }

    fn moment(&self) -> Result<(Box<dyn ReadCatalogue>, Head), CatalogueError> {
        let mut reader = self.connect()?;
        let head = reader.begin()?;
        Ok((Box::new(reader), head))
    }

    fn place(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests;
