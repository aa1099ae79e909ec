//! `instep.Entry`: a `url` or `sitemap` element.

use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::{PyDict, PyTuple},
};
use resourcesync::{Capability, Change, ChangeFreq, Entry, MediaType, PackagePath};

use crate::{
    datetime::DateTimeValue,
    errors,
    fields::{self, by_algorithm, foreign, representation, set_fields, set_metadata, shown, uri, written},
    link::LinkValue,
};

/// One resource, change, package, document or bitstream: a URI, and what a document says about it.
///
/// An entry never changes; `replace` returns another one. The fields have the names of the standard's attributes.
///
/// >>> from instep import Entry
/// >>> entry = Entry("http://example.com/res1", lastmod="2013-01-02T13:00:00Z", length=8876, type="text/html")
/// >>> entry.loc, entry.length, str(entry.lastmod)
/// ('http://example.com/res1', 8876, '2013-01-02T13:00:00Z')
/// >>> entry.replace(change="updated", datetime="2013-01-03T09:00:00Z").change
/// 'updated'
#[pyclass(name = "Entry", module = "instep", frozen, eq)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EntryValue(pub(crate) Entry);

/// Reads links from a sequence of them.
pub(crate) fn links(value: &Bound<'_, PyAny>) -> PyResult<Vec<resourcesync::Link>> {
    value.try_iter()?.map(|link| Ok(link?.cast::<LinkValue>()?.get().0.clone())).collect()
}

fn set(entry: &mut Entry, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
    match name {
        "loc" => entry.loc = uri("loc", &value.extract::<String>()?)?,
        "lastmod" => entry.lastmod = fields::time(value)?,
        "changefreq" => entry.changefreq = frequency(value)?,
        "priority" => entry.priority = fields::text(value)?.map(String::into_boxed_str),
        "links" => entry.links = links(value)?,
        _ if set_metadata(&mut entry.metadata, name, value)? => {}
        _ => return Err(PyTypeError::new_err(format!("Entry has no field {name}"))),
    }
    Ok(())
}

fn with(mut entry: Entry, fields: Option<&Bound<'_, PyDict>>) -> PyResult<EntryValue> {
    for (name, value) in fields.into_iter().flatten() {
        set(&mut entry, &name.extract::<String>()?, &value)?;
    }
    Ok(EntryValue(entry))
}

fn frequency(value: &Bound<'_, PyAny>) -> PyResult<Option<ChangeFreq>> {
    let parse = |text: String| text.parse().map_err(|error| errors::value("changefreq", &text, &error));
    fields::text(value)?.map(parse).transpose()
}

#[pymethods]
impl EntryValue {
    #[new]
    #[pyo3(signature = (loc, **fields))]
    fn new(loc: &str, fields: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        with(Entry::new(uri("loc", loc)?), fields)
    }

    /// Returns a copy in which some fields are others; `None` removes a field.
    #[pyo3(signature = (**fields))]
    fn replace(&self, fields: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        with(self.0.clone(), fields)
    }

    /// The URI of what the entry is about.
    #[getter]
    fn loc(&self) -> &str {
        self.0.loc.as_str()
    }

    /// The time of the resource's last modification; it says nothing about the time of a change.
    #[getter]
    fn lastmod(&self) -> Option<DateTimeValue> {
        shown(self.0.lastmod)
    }

    /// The expected frequency of changes: `always`, `hourly`, `daily`, `weekly`, `monthly`, `yearly` or `never`.
    #[getter]
    fn changefreq(&self) -> Option<&'static str> {
        self.0.changefreq.map(ChangeFreq::as_str)
    }

    /// The `priority` of the Sitemap protocol as written.
    #[getter]
    fn priority(&self) -> Option<&str> {
        self.0.priority.as_deref()
    }

    /// The capability of the document that the entry leads to: `resourcelist`, `changelist`, ...
    #[getter]
    fn capability(&self) -> Option<&str> {
        self.0.metadata.capability.as_ref().map(Capability::as_str)
    }

    /// The start of the snapshot that the entry leads to.
    #[getter]
    fn at(&self) -> Option<DateTimeValue> {
        shown(self.0.metadata.at)
    }

    /// The end of the snapshot that the entry leads to.
    #[getter]
    fn completed(&self) -> Option<DateTimeValue> {
        shown(self.0.metadata.completed)
    }

    /// The start of the interval of changes that the entry leads to: the attribute `from`.
    #[getter]
    fn from_(&self) -> Option<DateTimeValue> {
        shown(self.0.metadata.from)
    }

    /// The end of the interval of changes that the entry leads to.
    #[getter]
    fn until(&self) -> Option<DateTimeValue> {
        shown(self.0.metadata.until)
    }

    /// The type of change: `created`, `updated`, `deleted`, or another one as written.
    #[getter]
    fn change(&self) -> Option<&str> {
        self.0.metadata.change.as_ref().map(Change::as_str)
    }

    /// The time of the change.
    #[getter]
    fn datetime(&self) -> Option<DateTimeValue> {
        shown(self.0.metadata.datetime)
    }

    /// The content coding of the representation.
    #[getter]
    fn encoding(&self) -> Option<&str> {
        self.0.metadata.encoding.as_deref()
    }

    /// The digests as written: `md5:... sha-256:...`.
    #[getter]
    fn hash(&self) -> Option<String> {
        written(&self.0.metadata.hash)
    }

    /// The digests by algorithm: `{"sha-256": "..."}`.
    #[getter]
    fn digests<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        by_algorithm(py, &self.0.metadata.hash)
    }

    /// The length of the representation in bytes.
    #[getter]
    fn length(&self) -> Option<u64> {
        self.0.metadata.length
    }

    /// The path of the bitstream in its package.
    #[getter]
    fn path(&self) -> Option<&str> {
        self.0.metadata.path.as_ref().map(PackagePath::as_str)
    }

    /// The media type.
    #[getter]
    fn r#type(&self) -> Option<&str> {
        self.0.metadata.media_type.as_ref().map(MediaType::as_str)
    }

    /// The `modified` attribute of drafts.
    #[getter]
    fn modified(&self) -> Option<DateTimeValue> {
        shown(self.0.metadata.modified)
    }

    /// The links.
    #[getter]
    fn links<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.links.iter().cloned().map(LinkValue))
    }

    /// Attributes of other namespaces: tuples of namespace, name and value.
    #[getter]
    fn attributes(&self) -> Vec<(String, String, String)> {
        foreign(&self.0.metadata.other)
    }

    /// The line of the entry in the document that it was read from; `None` if it was not read.
    #[getter]
    fn line(&self) -> Option<u64> {
        Some(self.0.position.line).filter(|line| *line > 0)
    }

    /// Returns the first link of a relation; `None` if there is none.
    fn link(&self, rel: &str) -> Option<LinkValue> {
        self.0.link_for(&resourcesync::Relation::parse(rel)).cloned().map(LinkValue)
    }

    fn __hash__(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash as _, Hasher as _};
        let mut hasher = DefaultHasher::new();
        self.0.loc.hash(&mut hasher);
        self.0.metadata.hash.hash(&mut hasher);
        hasher.finish()
    }

    fn __getnewargs_ex__<'py>(slf: &Bound<'py, Self>) -> PyResult<((String,), Bound<'py, PyDict>)> {
        let fields = set_fields(slf.as_any(), &["lastmod", "changefreq", "priority", "links"])?;
        Ok(((slf.get().loc().to_owned(),), fields))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let md = &self.0.metadata;
        let fields = [
            ("lastmod", self.0.lastmod.map(|time| time.to_string())),
            ("capability", self.capability().map(str::to_owned)),
            ("change", self.change().map(str::to_owned)),
            ("datetime", md.datetime.map(|time| time.to_string())),
            ("hash", self.hash()),
            ("path", self.path().map(str::to_owned)),
            ("type", self.r#type().map(str::to_owned)),
        ];
        representation(py, "Entry", &[self.loc()], &fields, md.length)
    }
}

/// Returns entries as Rust's values.
pub(crate) fn entries(list: &[Py<EntryValue>]) -> impl Iterator<Item = &Entry> {
    list.iter().map(|entry| &entry.get().0)
}

/// Returns the exception for a count that is not positive.
pub(crate) fn positive(name: &str, count: usize) -> PyResult<usize> {
    if count > 0 { Ok(count) } else { Err(PyValueError::new_err(format!("{name} must be at least 1"))) }
}
