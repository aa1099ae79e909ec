//! The tokens of Rust, and the paths in its `use` declarations.

use super::Path;

pub(super) fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Returns the names joined by `::` at the start.
pub(super) fn path_at(tokens: &[&str]) -> Path {
    let mut path = vec![tokens[0].to_owned()];
    let mut rest = &tokens[1..];
    while let ["::", name, after @ ..] = rest
        && is_name(name)
    {
        path.push((*name).to_owned());
        rest = after;
    }
    path
}

/// Returns the paths of a `use` and the names that they bring.
pub(super) fn tree(tokens: &[&str], before: &[String]) -> Vec<(Path, String)> {
    let mut found = Vec::new();
    let mut path = before.to_vec();
    let mut name = None;
    let mut at = 0;
    let mut finish = |path: &mut Path, name: &mut Option<String>| {
        if path.len() > before.len() {
            if path.last().is_some_and(|last| last == "self") && path.len() > 1 {
                path.pop();
            }
            let last = path.last().cloned().unwrap_or_default();
            found.push((std::mem::replace(path, before.to_vec()), name.take().unwrap_or(last)));
        }
    };
    let mut groups = Vec::new();
    while at < tokens.len() {
        match tokens[at] {
            "{" => {
                let end = at + closing(&tokens[at..]);
                groups.extend(tree(&tokens[at + 1..end], &path));
                path = before.to_vec();
                at = end;
            }
            "," => finish(&mut path, &mut name),
            "as" => {
                name = tokens.get(at + 1).map(|name| (*name).to_owned());
                at += 1;
            }
            "::" => {}
            token => path.push(token.to_owned()),
        }
        at += 1;
    }
    finish(&mut path, &mut name);
    found.extend(groups);
    found
}

/// Returns the place at which the brace at the start is closed.
pub(super) fn closing(tokens: &[&str]) -> usize {
    let mut depth = 0;
    let close = tokens.iter().position(|token| {
        match *token {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    close.unwrap_or(tokens.len() - 1)
}

pub(super) fn tokens(code: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = if first.is_alphanumeric() || first == '_' {
            rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else {
            first.len_utf8()
        };
        tokens.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    tokens
}
