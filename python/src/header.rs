//! `instep.Header`: the root element of a document, and the metadata and links under it.

use pyo3::{
    exceptions::PyTypeError,
    prelude::*,
    types::{PyDict, PyTuple},
};
use resourcesync::{Capability, Dialect, Form, Header, Metadata, Relation};

use crate::{
    datetime::DateTimeValue,
    entry::links,
    fields::{foreign, representation, set_fields, set_metadata, shown},
    link::LinkValue,
};

/// The head of a document: its capability, its times and its links. It never changes; `replace` returns another one.
///
/// >>> from instep import Header
/// >>> header = Header("changelist", from_="2013-01-03T00:00:00Z")
/// >>> header.capability, header.is_index, str(header.from_)
/// ('changelist', False, '2013-01-03T00:00:00Z')
#[pyclass(name = "Header", module = "instep", frozen, eq)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HeaderValue(pub(crate) Header);

fn set(header: &mut Header, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
    match name {
        "links" => header.links = links(value)?,
        "is_index" => header.form = if value.extract()? { Form::Index } else { Form::List },
        _ => {
            let mut metadata = header.metadata.take().unwrap_or_default();
            if !set_metadata(&mut metadata, name, value)? {
                return Err(PyTypeError::new_err(format!("Header has no field {name}")));
            }
            header.metadata = (metadata != Metadata::new()).then_some(metadata);
        }
    }
    Ok(())
}

impl HeaderValue {
    fn metadata<T>(&self, field: impl FnOnce(&Metadata) -> Option<T>) -> Option<T> {
        self.0.metadata.as_ref().and_then(field)
    }
}

#[pymethods]
impl HeaderValue {
    #[new]
    #[pyo3(signature = (capability=None, *, is_index=false, **fields))]
    fn new(capability: Option<&str>, is_index: bool, fields: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let form = if is_index { Form::Index } else { Form::List };
        let of = |capability| Header::new(form, Capability::parse(capability));
        Self(capability.map_or_else(|| Header::bare(form), of)).replace(fields)
    }

    /// Returns a copy in which some fields are others; `None` removes a field.
    #[pyo3(signature = (**fields))]
    fn replace(&self, fields: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let mut header = self.0.clone();
        for (name, value) in fields.into_iter().flatten() {
            set(&mut header, &name.extract::<String>()?, &value)?;
        }
        Ok(Self(header))
    }

    /// The capability; `None` in a plain Sitemap.
    #[getter]
    fn capability(&self) -> Option<&str> {
        self.0.capability().map(Capability::as_str)
    }

    /// `True` for a `sitemapindex`, whose entries lead to lists.
    #[getter]
    fn is_index(&self) -> bool {
        self.0.form == Form::Index
    }

    /// The start of the snapshot.
    #[getter]
    fn at(&self) -> Option<DateTimeValue> {
        shown(self.metadata(|md| md.at))
    }

    /// The end of the snapshot.
    #[getter]
    fn completed(&self) -> Option<DateTimeValue> {
        shown(self.metadata(|md| md.completed))
    }

    /// The start of the interval of changes: the attribute `from`.
    #[getter]
    fn from_(&self) -> Option<DateTimeValue> {
        shown(self.metadata(|md| md.from))
    }

    /// The end of the interval of changes; `None` while the document is open.
    #[getter]
    fn until(&self) -> Option<DateTimeValue> {
        shown(self.metadata(|md| md.until))
    }

    /// The `modified` attribute of drafts.
    #[getter]
    fn modified(&self) -> Option<DateTimeValue> {
        shown(self.metadata(|md| md.modified))
    }

    /// The links.
    #[getter]
    fn links<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.links.iter().cloned().map(LinkValue))
    }

    /// Attributes of other namespaces: tuples of namespace, name and value.
    #[getter]
    fn attributes(&self) -> Vec<(String, String, String)> {
        self.0.metadata.as_ref().map(|md| foreign(&md.other)).unwrap_or_default()
    }

    /// `True` if the document was written by a draft of the standard, and read as version 1.1.
    #[getter]
    fn is_draft(&self) -> bool {
        matches!(self.0.dialect, Dialect::January2013 | Dialect::V0_5 | Dialect::V0_9)
    }

    /// Returns the first link of a relation; `None` if there is none.
    fn link(&self, rel: &str) -> Option<LinkValue> {
        self.0.link_for(&Relation::parse(rel)).cloned().map(LinkValue)
    }

    fn __getnewargs_ex__<'py>(slf: &Bound<'py, Self>) -> PyResult<((Option<String>,), Bound<'py, PyDict>)> {
        let fields = set_fields(slf.as_any(), &["is_index", "links"])?;
        fields.del_item("capability").ok();
        Ok(((slf.get().capability().map(str::to_owned),), fields))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let text = |time: Option<DateTimeValue>| time.map(|time| time.0.to_string());
        let fields = [
            ("at", text(self.at())),
            ("completed", text(self.completed())),
            ("from_", text(self.from_())),
            ("until", text(self.until())),
        ];
        representation(py, "Header", &self.capability().into_iter().collect::<Vec<_>>(), &fields, None)
    }
}
