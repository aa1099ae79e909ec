//! The API, compared with its own description.

use serde_json::{Value, json};

use crate::support::{FleetFolder, Running, TOKEN, as_ada, ask, get};

/// Asserts that a value matches a schema: no further or missing property, each of its type.
fn assert_is(value: &Value, schema: &Value, document: &Value, at: &str) {
    if let Some(reference) = schema["$ref"].as_str() {
        let schema = document.pointer(reference.trim_start_matches('#')).unwrap();
        return assert_is(value, schema, document, at);
    }
    let is = |name: &str| match name {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => panic!("{at}: {name}"),
    };
    let types: Vec<&str> = match &schema["type"] {
        Value::Array(types) => types.iter().filter_map(Value::as_str).collect(),
        one => vec![one.as_str().unwrap()],
    };
    assert!(types.into_iter().any(is), "{at}: {value} is no {}", schema["type"]);
    if let Some(allowed) = schema["enum"].as_array() {
        assert!(allowed.contains(value), "{at}: {value}");
    }
    if schema["format"] == "date-time" && !value.is_null() {
        assert!(value.as_str().unwrap().ends_with('Z'), "{at}: {value}");
    }
    for (place, item) in value.as_array().into_iter().flatten().enumerate() {
        assert_is(item, &schema["items"], document, &format!("{at}/{place}"));
    }
    let Some(fields) = value.as_object() else { return };
    for required in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        assert!(fields.contains_key(required), "{at}: no {required}: {value}");
    }
    for (name, field) in fields {
        let known = match &schema["properties"][name] {
            Value::Null => &schema["additionalProperties"],
            known => known,
        };
        assert!(known.is_object(), "{at}: {name} is not described");
        assert_is(field, known, document, &format!("{at}/{name}"));
    }
}

#[test]
fn o108_each_answer_also_to_an_unknown_state_or_column_is_what_the_description_says() {
    let fleet = FleetFolder::new();
    let source = Running::source(&fleet.data("data", 2));
    let run = fleet.start(&[]);
    let document = get(&run, "/api/v1/openapi.json").json();
    let mut tried = 0;
    let mut check = |operation: &str, code: u16, answer: crate::support::Answered| {
        assert_eq!(answer.status, code, "{operation}: {}", answer.body);
        let operations = document["paths"]
            .as_object()
            .unwrap()
            .values()
            .flat_map(|path| path.as_object().unwrap().values());
        let described = operations.into_iter().find(|found| found["operationId"] == operation).unwrap();
        let schema = &described["responses"][code.to_string()]["content"]["application/json"]["schema"];
        assert!(schema.is_object(), "{operation} {code} is not described");
        assert_is(&answer.json(), schema, &document, operation);
        tried += 1;
        answer
    };
    let body = json!({ "url": source.url, "name": "a" }).to_string();
    check("add", 401, ask(&run, "POST /api/v1/sources", &[("Content-Type", "application/json")], &body));
    check("add", 201, as_ada(&run, "POST /api/v1/sources", &body));
    check("add", 409, as_ada(&run, "POST /api/v1/sources", &body));
    check("add", 422, as_ada(&run, "POST /api/v1/sources", "{\"url\": \"ftp://x\"}"));
    check("add", 422, as_ada(&run, "POST /api/v1/sources", "{\"uri\": 1}"));
    fleet.wait_for("a", "in-step");
    check("fleet", 200, get(&run, "/api/v1/fleet"));
    check("workers", 200, get(&run, "/api/v1/workers"));
    let listed =
        check("sources", 200, get(&run, "/api/v1/sources?state=in-step&sort=-held&limit=1&q=a")).json();
    assert_eq!((&listed["matching"], &listed["sources"][0]["held"]), (&1.into(), &2.into()), "{listed}");
    for unknown in ["state=instep", "sort=size", "sort=-size", "page=-1", "limit=x"] {
        let refused = check("sources", 400, get(&run, &format!("/api/v1/sources?{unknown}"))).json();
        assert!(!refused["error"].as_str().unwrap().is_empty(), "o108: {refused}");
    }
    check("source", 200, get(&run, "/api/v1/sources/a"));
    check("source", 404, get(&run, "/api/v1/sources/b"));
    let looks = check("looks", 200, get(&run, "/api/v1/sources/a/looks")).json();
    assert_eq!(looks["looks"][0]["held"], 2, "{looks}");
    check("looks", 404, get(&run, "/api/v1/sources/b/looks"));
    let documents = check("documents", 200, get(&run, "/api/v1/sources/a/documents")).json();
    let lists = documents["documents"].as_array().unwrap();
    let of = |capability: &str| lists.iter().find(|document| document["capability"] == capability).unwrap();
    assert_eq!((&of("resourcelist")["entries"], &of("resourcelist")["broken"]), (&2.into(), &json!([])));
    assert!(of("capabilitylist")["leads_to"].as_array().unwrap().contains(&of("resourcelist")["uri"]));
    check("documents", 404, get(&run, "/api/v1/sources/b/documents"));
    check("operate", 401, ask(&run, "POST /api/v1/sources/a/pause", &[], ""));
    check("operate", 200, as_ada(&run, "POST /api/v1/sources/a/pause", ""));
    check("operate", 409, as_ada(&run, "POST /api/v1/sources/a/run", ""));
    check("operate", 404, as_ada(&run, "POST /api/v1/sources/b/run", ""));
    check("actions", 401, get(&run, "/api/v1/actions"));
    let actions = check("actions", 200, as_ada(&run, "GET /api/v1/actions", "")).json();
    assert_eq!(
        (&actions["actions"][0]["what"], &actions["actions"][0]["who"]),
        (&"pause".into(), &"ada".into())
    );
    assert_eq!(tried, 25);
    assert_eq!(get(&run, "/api/v1/nothing").status, 404);
}

#[test]
fn o298_what_a_query_does_not_mean_is_refused_and_reading_page_by_page_ends() {
    let fleet = FleetFolder::new();
    for number in 0..3 {
        fleet.ends(&["add", &format!("http://127.0.0.1:1/{number}/"), "--name", &format!("s{number}")], 0);
        fleet.ends(&["pause", &format!("s{number}")], 0);
    }
    let run = fleet.start(&[]);
    for (query, named) in
        [("stat=failing", "stat"), ("state=paused&limt=1", "limt"), ("page=0", "page"), ("limit=0", "limit")]
    {
        let refused = get(&run, &format!("/api/v1/sources?{query}"));
        assert!(
            refused.status == 400 && refused.json()["error"].as_str().unwrap().contains(named),
            "{}",
            refused.body
        );
    }
    let refused = as_ada(&run, "GET /api/v1/actions?befor=1", "");
    assert_eq!(refused.status, 400, "{}", refused.body);
    let pages = (1..).map(|page| get(&run, &format!("/api/v1/sources?limit=2&page={page}")).json());
    let sizes = pages.map(|page| page["sources"].as_array().unwrap().len());
    assert_eq!(sizes.take_while(|size| *size > 0).collect::<Vec<_>>(), [2, 1]);
}

#[test]
fn o299_each_refusal_of_the_api_is_json_with_its_own_status() {
    let fleet = FleetFolder::new();
    let run = fleet.start(&[]);
    let authorization = format!("bearer {TOKEN}");
    let signed = ("Authorization", authorization.as_str());
    for (request, kind, body, status) in [
        ("POST /api/v1/fleet", "application/json", "", 405),
        ("GET /api/v1/sources/a/run", "application/json", "", 405),
        ("POST /api/v1/sources", "text/plain", "{}", 415),
        ("POST /api/v1/sources", "application/json", "[", 422),
        ("GET /api/v1/sources/a%2fb", "application/json", "", 400),
    ] {
        let answer = ask(&run, request, &[signed, ("Content-Type", kind)], body);
        assert_eq!(answer.status, status, "{request}: {}", answer.body);
        assert!(answer.json()["error"].is_string(), "{request}: {}", answer.body);
    }
}

#[test]
fn o728_an_address_without_a_name_is_answered_in_json_and_a_missing_token_with_its_scheme() {
    let fleet = FleetFolder::new();
    let run = fleet.start(&[]);
    for path in ["/api/v1", "/api/v1/", "/api/v1/sources/"] {
        let answer = get(&run, path);
        assert_eq!(answer.status, 404, "{path}: {}", answer.body);
        assert!(answer.json()["error"].is_string(), "{path}: {}", answer.body);
    }
    for request in ["GET /api/v1/actions", "POST /api/v1/sources", "POST /api/v1/sources/a/pause"] {
        let answer = ask(&run, request, &[("Content-Type", "application/json")], "{}");
        let names_scheme =
            answer.head.lines().any(|line| line.eq_ignore_ascii_case("www-authenticate: bearer"));
        assert!(answer.status == 401 && names_scheme, "{request}: {}", answer.head);
    }
}
