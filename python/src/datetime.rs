//! `instep.DateTime`: a time with the precision it was written with.

use pyo3::{prelude::*, types::PyType};
use resourcesync::{DateTime, value::Precision};

use crate::errors;

/// A W3C datetime that keeps the precision it was written with: `2013-01-03` is a day, not its first second.
///
/// >>> from instep import DateTime
/// >>> day = DateTime("2013-01-03")
/// >>> str(day), day.precision
/// ('2013-01-03', 'day')
/// >>> day < DateTime("2013-01-03T09:00:00Z")
/// True
/// >>> day.to_datetime().isoformat()
/// '2013-01-03T00:00:00+00:00'
#[pyclass(name = "DateTime", module = "instep", frozen, eq, ord, hash)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct DateTimeValue(pub(crate) DateTime);

#[pymethods]
impl DateTimeValue {
    #[new]
    fn new(value: TimeArgument) -> Self {
        Self(value.0)
    }

    /// Returns the current time with six fraction digits.
    #[classmethod]
    fn now(_class: &Bound<'_, PyType>) -> PyResult<Self> {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let micros = since.map_err(|error| errors::value("now", "", &error))?.as_micros();
        Ok(Self(DateTime::from_unix_micros(micros as i64)))
    }

    /// The smallest unit that was written: `year`, `month`, `day`, `minute`, `second` or `fraction`.
    #[getter]
    fn precision(&self) -> &'static str {
        match self.0.precision() {
            Precision::Year => "year",
            Precision::Month => "month",
            Precision::Day => "day",
            Precision::Minute => "minute",
            Precision::Second => "second",
            Precision::Fraction(_) => "fraction",
        }
    }

    /// Returns the seconds since 1970, as `datetime.timestamp()` does.
    fn timestamp(&self) -> f64 {
        let (seconds, nanos) = self.0.instant();
        seconds as f64 + f64::from(nanos) / 1e9
    }

    /// Returns the time as an aware `datetime.datetime` in UTC; its first instant if only a day or more was written.
    #[pyo3(name = "to_datetime")]
    fn as_datetime<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let module = py.import("datetime")?;
        let utc = module.getattr("timezone")?.getattr("utc")?;
        let epoch = module.getattr("datetime")?.call1((1970, 1, 1, 0, 0, 0, 0, utc))?;
        let delta = module.getattr("timedelta")?.call1((0, 0, self.0.unix_micros()))?;
        epoch.add(delta)
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("DateTime('{}')", self.0)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyType>, (String,)) {
        (py.get_type::<Self>(), (self.0.to_string(),))
    }
}

/// A time as an argument: a `DateTime`, a text, an aware `datetime.datetime` or a `datetime.date`.
pub(crate) struct TimeArgument(pub(crate) DateTime);

impl<'a, 'py> FromPyObject<'a, 'py> for TimeArgument {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(value) = object.cast::<DateTimeValue>() {
            return Ok(Self(value.get().0));
        }
        let text: String = match object.extract::<String>() {
            Ok(text) => text,
            Err(error) => match object.getattr("isoformat") {
                Ok(isoformat) => isoformat.call0()?.extract()?,
                Err(_) => return Err(error),
            },
        };
        let parsed = DateTime::parse(&text);
        parsed.map(Self).map_err(|error| errors::value("time", &text, &error))
    }
}
