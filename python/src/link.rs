//! `instep.Link`: an `rs:ln` element.

use pyo3::{exceptions::PyTypeError, prelude::*, types::PyDict};
use resourcesync::{Link, MediaType, PackagePath, Relation};

use crate::{
    datetime::DateTimeValue,
    fields::{self, by_algorithm, foreign, representation, set_fields, shown, uri, written},
};

/// A link of a document or an entry: `rel`, `href` and what the document says about the target.
///
/// >>> from instep import Link
/// >>> link = Link("describedby", "http://example.com/about.xml", type="application/xml")
/// >>> link.rel, link.type
/// ('describedby', 'application/xml')
#[pyclass(name = "Link", module = "instep", frozen, eq)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LinkValue(pub(crate) Link);

fn set(link: &mut Link, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
    match name {
        "rel" => link.rel = Relation::parse(&value.extract::<String>()?),
        "href" => link.href = uri("href", &value.extract::<String>()?)?,
        "pri" => link.pri = value.extract()?,
        "encoding" => link.encoding = fields::text(value)?.map(String::into_boxed_str),
        "hash" => link.hash = fields::digests(value)?,
        "length" => link.length = fields::length(value)?,
        "modified" => link.modified = fields::time(value)?,
        "path" => link.path = fields::text(value)?.map(|text| PackagePath::new(&text)),
        "type" => link.media_type = fields::text(value)?.map(|text| MediaType::new(&text)),
        "attributes" => link.other = fields::attributes(value)?,
        _ => return Err(PyTypeError::new_err(format!("Link has no field {name}"))),
    }
    Ok(())
}

#[pymethods]
impl LinkValue {
    #[new]
    #[pyo3(signature = (rel, href, **fields))]
    fn new(rel: &str, href: &str, fields: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let link = Link::new(Relation::parse(rel), uri("href", href)?);
        Self(link).replace(fields)
    }

    /// Returns a copy in which some fields are others; `None` removes a field.
    #[pyo3(signature = (**fields))]
    fn replace(&self, fields: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let mut link = self.0.clone();
        for (name, value) in fields.into_iter().flatten() {
            set(&mut link, &name.extract::<String>()?, &value)?;
        }
        Ok(Self(link))
    }

    /// The relation of the target to what has the link.
    #[getter]
    fn rel(&self) -> &str {
        self.0.rel.as_str()
    }

    /// The URI of the target.
    #[getter]
    fn href(&self) -> &str {
        self.0.href.as_str()
    }

    /// The preference among links of one relation: 1 is the most preferred.
    #[getter]
    fn pri(&self) -> Option<u32> {
        self.0.pri
    }

    /// The content coding of the target.
    #[getter]
    fn encoding(&self) -> Option<&str> {
        self.0.encoding.as_deref()
    }

    /// The digests of the target as written.
    #[getter]
    fn hash(&self) -> Option<String> {
        written(&self.0.hash)
    }

    /// The digests of the target by algorithm.
    #[getter]
    fn digests<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        by_algorithm(py, &self.0.hash)
    }

    /// The length of the target in bytes.
    #[getter]
    fn length(&self) -> Option<u64> {
        self.0.length
    }

    /// The time of the target's last modification.
    #[getter]
    fn modified(&self) -> Option<DateTimeValue> {
        shown(self.0.modified)
    }

    /// The path of the target in a package.
    #[getter]
    fn path(&self) -> Option<&str> {
        self.0.path.as_ref().map(PackagePath::as_str)
    }

    /// The media type of the target.
    #[getter]
    fn r#type(&self) -> Option<&str> {
        self.0.media_type.as_ref().map(MediaType::as_str)
    }

    /// Attributes of other namespaces: tuples of namespace, name and value.
    #[getter]
    fn attributes(&self) -> Vec<(String, String, String)> {
        foreign(&self.0.other)
    }

    fn __getnewargs_ex__<'py>(slf: &Bound<'py, Self>) -> PyResult<((String, String), Bound<'py, PyDict>)> {
        let fields = set_fields(slf.as_any(), &["pri"])?;
        Ok(((slf.get().rel().to_owned(), slf.get().href().to_owned()), fields))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (media_type, path) = (self.r#type().map(str::to_owned), self.path().map(str::to_owned));
        let fields = [("type", media_type), ("path", path), ("hash", self.hash())];
        representation(py, "Link", &[self.rel(), self.href()], &fields, self.0.length)
    }
}
