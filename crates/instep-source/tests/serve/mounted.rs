//! A Source inside an application: beside its routes, and with its fallback.

use std::sync::Arc;

use axum::{Router, routing::get};
use instep_source::{
    NoMonitor,
    serve::{ServeOptions, Source},
};
use tower::ServiceExt;

use super::server::folder;

async fn body(app: &Router, target: &str) -> (u16, String) {
    let request =
        http::Request::get(target).header("host", "localhost").body(axum::body::Body::empty()).unwrap();
    let response = app.clone().oneshot(request).await.unwrap();
    let status = response.status().as_u16();
    let bytes = axum::body::to_bytes(response.into_body(), 1 << 20).await.unwrap();
    (status, String::from_utf8_lossy(&bytes).into_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_routes_are_merged_into_an_application_with_routes_and_a_fallback_of_its_own() {
    for (path, outside) in [("", 404), ("/data/", 200)] {
        let files = folder(&[("a.txt", b"resource"), ("d/index.html", b"index")]);
        let mut options = ServeOptions::new(files.path());
        options.publish.base_url = format!("http://localhost{path}");
        let source = Source::start(options, Arc::new(NoMonitor)).await.unwrap();
        let own = Router::new().route("/own", get(|| async { "own" })).fallback(|| async { "fallback" });
        let app = own.merge(source.router());
        let prefix = path.trim_end_matches('/');
        for (target, text) in [("a.txt", "resource"), ("d/", "index"), ("readyz", "ready")] {
            let (status, answer) = body(&app, &format!("{prefix}/{target}")).await;
            assert_eq!(status, 200, "{target}");
            assert!(answer.contains(text), "{target}: {answer}");
        }
        let (status, answer) = body(&app, &format!("{prefix}/resourcesync/capabilitylist.xml")).await;
        assert!(status == 200 && answer.contains("capabilitylist"), "{answer}");
        assert_eq!(body(&app, "/own").await, (200, "own".to_owned()));
        // At the root the Source has every other path; below a path the application has.
        assert_eq!(body(&app, "/elsewhere").await.0, outside);
        assert_eq!(body(&app, &format!("{prefix}/absent")).await.0, 404);
        source.end().await;
    }
}
