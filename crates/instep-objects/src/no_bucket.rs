//! Replaces object storage in a build without it.

use std::{
    fs::File,
    io,
    ops::{ControlFlow, Range},
};

use bytes::Bytes;

use crate::{BucketError, KeptDigests, ListedObject, NewObject, ObjectMark, ObjectPlace, ObjectStart};

/// A bucket that cannot be opened.
#[derive(Debug)]
pub enum Bucket {}

#[expect(missing_docs, reason = "they stand in for those of a build with object storage")]
#[expect(clippy::missing_errors_doc, reason = "as above")]
impl Bucket {
    pub fn open(_place: &ObjectPlace) -> Result<Self, BucketError> {
        Err(BucketError::new("this build has no object storage; build it with the feature `objects`"))
    }

    pub fn foreign(&self, _names: &[&str], _mark: &ObjectMark) -> Result<Vec<String>, BucketError> {
        match *self {}
    }

    pub fn put(
        &self,
        _objects: &[NewObject],
        _read: &(dyn Fn(&str) -> io::Result<File> + Sync),
    ) -> Result<u64, BucketError> {
        match *self {}
    }

    pub fn remove(&self, _names: &[&str]) -> Result<(), BucketError> {
        match *self {}
    }

    pub fn read(&self, _name: &str, _part: Option<Range<u64>>) -> Result<Bytes, BucketError> {
        match *self {}
    }

    pub fn read_on(
        &self,
        _name: &str,
        _start: &ObjectStart,
        _part: Range<u64>,
    ) -> Result<Bytes, BucketError> {
        match *self {}
    }

    pub fn begin(&self, _name: &str, _most: u64) -> Result<ObjectStart, BucketError> {
        match *self {}
    }

    pub fn length(&self, _name: &str) -> Result<Option<u64>, BucketError> {
        match *self {}
    }

    pub fn copy(&self, _from: &str, _to: &str) -> Result<(), BucketError> {
        match *self {}
    }

    pub fn first_below(&self, _name: &str) -> Result<Option<String>, BucketError> {
        match *self {}
    }

    pub fn check(&self) -> Result<(), BucketError> {
        match *self {}
    }

    pub fn list(
        &self,
        _each: &mut (dyn FnMut(ListedObject) -> ControlFlow<()> + Send),
    ) -> Result<(), BucketError> {
        match *self {}
    }

    pub fn list_below(
        &self,
        _name: &str,
        _each: &mut (dyn FnMut(ListedObject) -> ControlFlow<()> + Send),
    ) -> Result<(), BucketError> {
        match *self {}
    }

    pub fn listed(&self, _name: &str) -> Result<Option<ListedObject>, BucketError> {
        match *self {}
    }

    pub fn kept_digests(&self, _name: &str) -> Result<KeptDigests, BucketError> {
        match *self {}
    }

    pub fn place(&self) -> &ObjectPlace {
        match *self {}
    }
}
