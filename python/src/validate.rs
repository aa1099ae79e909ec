//! `instep.validate`: documents and packages against every rule of the standard.

use pyo3::{prelude::*, types::PyTuple};
use resourcesync::{
    Capability, Finding,
    package::PackageLimits,
    validate::{Report, ValidateOptions, Validator},
};

use crate::{errors, fields::uri, header::HeaderValue, stream};

/// An observation about a document, with the rule that it concerns and its place.
///
/// >>> import instep
/// >>> report = instep.validate(b"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'><url/></urlset>")
/// >>> [(finding.rule, finding.line, finding.column) for finding in report.findings if finding.severity == "error"]
/// [('GEN-14', 1, 61)]
#[pyclass(name = "Finding", module = "instep", frozen, eq)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FindingValue(pub(crate) Finding);

#[pymethods]
impl FindingValue {
    /// The id of the rule: `RL-2`.
    #[getter]
    fn rule(&self) -> &'static str {
        self.0.rule
    }

    /// The weight: `error`, `warning` or `info`.
    #[getter]
    fn severity(&self) -> &'static str {
        self.0.severity.as_str()
    }

    /// The line, from 1; 0 if the finding is not about a place.
    #[getter]
    fn line(&self) -> u64 {
        self.0.position.line
    }

    /// The byte in the line, from 1.
    #[getter]
    fn column(&self) -> u64 {
        self.0.position.column
    }

    /// The text or state that was found.
    #[getter]
    fn found(&self) -> &str {
        &self.0.found
    }

    /// The text or state that the rule asks for.
    #[getter]
    fn expected(&self) -> &str {
        &self.0.expected
    }

    /// The clause of the standard: `§10.1`; empty if no clause states the rule.
    #[getter]
    fn clause(&self) -> &'static str {
        self.0.clause()
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("<Finding {}>", self.0)
    }
}

/// The findings about a document or package.
#[pyclass(name = "Report", module = "instep", frozen)]
#[derive(Clone, Debug)]
pub(crate) struct ReportValue(Report);

#[pymethods]
impl ReportValue {
    /// The findings in document order; of each rule at most 100.
    #[getter]
    fn findings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.findings.iter().cloned().map(FindingValue))
    }

    /// The number of errors: broken *must*s.
    #[getter]
    fn errors(&self) -> u64 {
        self.0.summary.errors
    }

    /// The number of warnings.
    #[getter]
    fn warnings(&self) -> u64 {
        self.0.summary.warnings
    }

    /// The number of infos.
    #[getter]
    fn infos(&self) -> u64 {
        self.0.summary.infos
    }

    /// The number of entries read.
    #[getter]
    fn entries(&self) -> u64 {
        self.0.entries
    }

    /// The document's header; `None` if it could not be read.
    #[getter]
    fn header(&self) -> Option<HeaderValue> {
        self.0.header.clone().map(HeaderValue)
    }

    /// `True` if there is no error.
    #[getter]
    fn is_valid(&self) -> bool {
        self.0.summary.errors == 0
    }

    fn __repr__(&self) -> String {
        let summary = &self.0.summary;
        format!("<Report: {} errors, {} warnings, {} infos>", summary.errors, summary.warnings, summary.infos)
    }
}

fn validator(version: &str, strict: bool, base: Option<&str>, expected: Option<&str>) -> PyResult<Validator> {
    let mut options = ValidateOptions::new();
    options.version = version.parse().map_err(|error| errors::value("version", version, &error))?;
    options.strict = strict;
    options.base = base.map(|base| uri("base", base)).transpose()?;
    options.expected = expected.map(Capability::parse);
    Ok(Validator::new(options))
}

/// Validates a document.
#[pyfunction]
#[pyo3(signature = (source, *, version="1.1", strict=false, base=None, expected=None))]
pub(crate) fn validate_document(
    source: &Bound<'_, PyAny>,
    version: &str,
    strict: bool,
    base: Option<&str>,
    expected: Option<&str>,
) -> PyResult<ReportValue> {
    let validator = validator(version, strict, base, expected)?;
    let bytes = stream::open(source)?;
    let report = source.py().detach(|| validator.document(bytes));
    report.map(ReportValue).map_err(errors::input)
}

/// Validates a package and its manifest, and reads each bitstream. Returns the reports about both.
#[pyfunction]
#[pyo3(signature = (source, *, version="1.1", strict=false, expected=None))]
pub(crate) fn validate_package(
    source: &Bound<'_, PyAny>,
    version: &str,
    strict: bool,
    expected: Option<&str>,
) -> PyResult<(ReportValue, Option<ReportValue>)> {
    let validator = validator(version, strict, None, None)?;
    let expected = expected.map(Capability::parse);
    let archive = stream::archive(source)?;
    let report = source.py().detach(|| validator.package(archive, PackageLimits::new(), expected.as_ref()));
    let report = report.map_err(errors::input)?;
    Ok((ReportValue(report.package), report.manifest.map(ReportValue)))
}
