//! Events of object storage: the messages in which a service names objects that were put or removed.

use percent_encoding::percent_decode_str;
use serde_json::Value;

/// A bucket, and the complete key of an object in it.
pub(super) type NamedObject = (String, String);

/// Reads a message of a service: `Records` as S3 and similar services send them to queues and webhooks, or an event
/// of EventBridge. `None` for anything else.
///
/// # Errors
/// A sentence that describes the fault.
pub(super) fn named(item: &Value) -> Result<Option<Vec<NamedObject>>, String> {
    if let Some(records) = item.get("Records").and_then(Value::as_array) {
        let one = |(number, record): (usize, &Value)| {
            record_of(record).ok_or_else(|| format!("record {number} names no object"))
        };
        return records.iter().enumerate().map(one).collect::<Result<_, _>>().map(Some);
    }
    if item.get("source").and_then(Value::as_str) == Some("aws.s3") {
        let object = event_of(item).ok_or("the event names no object")?;
        return Ok(Some(vec![object]));
    }
    // The message that a service sends when a queue is connected.
    let is_test = item.get("Event").and_then(Value::as_str) == Some("s3:TestEvent");
    Ok(is_test.then(Vec::new))
}

/// Keys are encoded as in forms here.
fn record_of(record: &Value) -> Option<NamedObject> {
    let bucket = record.pointer("/s3/bucket/name")?.as_str()?;
    let key = record.pointer("/s3/object/key")?.as_str()?.replace('+', " ");
    let key = percent_decode_str(&key).decode_utf8().ok()?;
    Some((bucket.to_owned(), key.into_owned()))
}

/// Keys are as they are here.
fn event_of(event: &Value) -> Option<NamedObject> {
    let bucket = event.pointer("/detail/bucket/name")?.as_str()?;
    let key = event.pointer("/detail/object/key")?.as_str()?;
    Some((bucket.to_owned(), key.to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::named;

    #[test]
    fn each_object_that_a_service_names_is_reported() {
        let record = |key: &str, name: &str| {
            json!({"eventVersion": "2.1", "eventSource": "aws:s3", "eventName": name,
                   "s3": {"bucket": {"name": "b"}, "object": {"key": key, "size": 3, "sequencer": "1"}}})
        };
        let message = json!({"Records": [record("a+b%2B%C3%A9", "ObjectCreated:Put"), record("d/e", "ObjectRemoved:Delete")]});
        let expected = ["a b+\u{e9}", "d/e"].map(|key| ("b".to_owned(), key.to_owned())).to_vec();
        assert_eq!(named(&message).unwrap(), Some(expected));
        let event = json!({"source": "aws.s3", "detail-type": "Object Created",
                           "detail": {"bucket": {"name": "b"}, "object": {"key": "a+b%20c"}}});
        assert_eq!(named(&event).unwrap(), Some(vec![("b".to_owned(), "a+b%20c".to_owned())]));
    }

    #[test]
    fn a_test_message_reports_nothing_and_a_wrong_one_is_named() {
        let test = json!({"Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": "b"});
        assert_eq!(named(&test).unwrap(), Some(Vec::new()));
        assert_eq!(named(&json!({"uri": "http://h/a"})).unwrap(), None);
        for wrong in [
            json!({"Records": [{}]}),
            json!({"Records": [{"s3": {"bucket": {"name": "b"}, "object": {"key": "%ff"}}}]}),
            json!({"source": "aws.s3", "detail": {}}),
        ] {
            assert!(named(&wrong).is_err(), "{wrong}");
        }
    }
}
