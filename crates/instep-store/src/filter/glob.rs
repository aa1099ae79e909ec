//! Patterns of rsync as patterns of the glob library: `**` everywhere, and classes such as `[[:digit:]]`.

/// The name of a class, and the bytes that it contains.
type NamedClass = (&'static str, fn(&u8) -> bool);

/// The named classes, within ASCII, as in rsync.
const CLASSES: [NamedClass; 12] = [
    ("alnum", u8::is_ascii_alphanumeric),
    ("alpha", u8::is_ascii_alphabetic),
    ("blank", |byte| matches!(byte, b' ' | b'\t')),
    ("cntrl", u8::is_ascii_control),
    ("digit", u8::is_ascii_digit),
    ("graph", u8::is_ascii_graphic),
    ("lower", u8::is_ascii_lowercase),
    ("print", |byte| matches!(byte, b' '..=b'~')),
    ("punct", u8::is_ascii_punctuation),
    ("space", |byte| matches!(byte, b' ' | b'\t'..=b'\r')),
    ("upper", u8::is_ascii_uppercase),
    ("xdigit", u8::is_ascii_hexdigit),
];

/// `**` within a name: the glob library supports it only as a complete name.
const ACROSS: &str = "{*,*/**/*}";

/// Returns the pattern of the glob library with the meaning of one of rsync.
///
/// # Errors
/// The reason why it is not a pattern.
pub(super) fn of_rsync(pattern: &str) -> Result<String, String> {
    let last = pattern.matches('/').count();
    let names = pattern.split('/').enumerate().map(|(index, name)| match name {
        stars if stars.len() > 1 && stars.bytes().all(|byte| byte == b'*') => {
            // Between two slashes it matches one folder or more.
            Ok(if index > 0 && index < last { "*/**" } else { "**" }.to_owned())
        }
        name => of_name(name),
    });
    Ok(names.collect::<Result<Vec<_>, String>>()?.join("/"))
}

fn of_name(name: &str) -> Result<String, String> {
    let (mut glob, mut rest) = (String::new(), name);
    while let Some(first) = rest.chars().next() {
        let taken = match first {
            '*' => {
                let stars = rest.len() - rest.trim_start_matches('*').len();
                glob.push_str(if stars > 1 { ACROSS } else { "*" });
                stars
            }
            '[' => match class(rest)? {
                Some((class, length)) => {
                    glob.push_str(&class);
                    length
                }
                // The glob library says what is missing.
                None => {
                    glob.push_str(rest);
                    rest.len()
                }
            },
            '\\' => {
                let length = 1 + rest[1..].chars().next().map_or(0, char::len_utf8);
                glob.push_str(&rest[..length]);
                length
            }
            other => {
                glob.push(other);
                other.len_utf8()
            }
        };
        rest = &rest[taken..];
    }
    Ok(glob)
}

/// Reads a class at the start of a text. Returns it for the glob library with its length; `None` if it does not end.
fn class(text: &str) -> Result<Option<(String, usize)>, String> {
    let mut rest = &text[1..];
    let is_negated = rest.starts_with(['!', '^']);
    rest = &rest[usize::from(is_negated)..];
    let (mut ascii, mut others) = ([false; 128], Vec::new());
    let mut add = |from: char, to: char| match (u8::try_from(from), u8::try_from(to)) {
        (Ok(from), Ok(to)) if from < 128 && to < 128 => {
            (from..=to).for_each(|byte| ascii[usize::from(byte)] = true)
        }
        _ => others.push((from, to)),
    };
    let mut is_first = true;
    loop {
        if rest.starts_with(']') && !is_first {
            break;
        }
        is_first = false;
        if let Some((name, behind)) = rest.strip_prefix("[:").and_then(|rest| rest.split_once(":]")) {
            let known = CLASSES.iter().find(|(known, _)| *known == name);
            let (_, contains) = known.ok_or_else(|| format!("there is no class [:{name}:]"))?;
            (0..128_u8).filter(contains).for_each(|byte| add(char::from(byte), char::from(byte)));
            rest = behind;
            continue;
        }
        let Some((from, behind)) = member(rest) else { return Ok(None) };
        rest = behind;
        let end = rest.strip_prefix('-').filter(|rest| !rest.starts_with(']')).and_then(member);
        match end {
            Some((to, behind)) => {
                add(from, to);
                rest = behind;
            }
            None => add(from, from),
        }
    }
    let length = text.len() - rest.len() + 1;
    Ok(Some((written(is_negated, ascii, &others), length)))
}

/// Returns the first member of a class and the text behind it.
fn member(text: &str) -> Option<(char, &str)> {
    let text = text.strip_prefix('\\').unwrap_or(text);
    let first = text.chars().next()?;
    Some((first, &text[first.len_utf8()..]))
}

/// Writes a class: characters with a meaning of their own where the glob library takes them as themselves.
fn written(is_negated: bool, mut ascii: [bool; 128], others: &[(char, char)]) -> String {
    // No class of rsync matches between two names.
    ascii[usize::from(b'/')] = is_negated;
    let has = |byte: u8| ascii[usize::from(byte)];
    let mut body = String::new();
    if has(b']') {
        body.push(']');
    }
    let plain = (0..128_u8).filter(|byte| has(*byte) && !b"]-!^".contains(byte));
    body.extend(plain.map(char::from));
    for (from, to) in others {
        body.extend([*from, '-', *to]);
    }
    let signs = [b'!', b'^', b'-'].into_iter().filter(|byte| has(*byte)).map(char::from);
    if body.is_empty() && !is_negated {
        // `!` and `^` at the start of a class negate it, so a class of nothing else is written as alternatives.
        return format!("{{{}}}", signs.map(String::from).collect::<Vec<_>>().join(","));
    }
    body.extend(signs);
    format!("[{}{body}]", if is_negated { "!" } else { "" })
}
