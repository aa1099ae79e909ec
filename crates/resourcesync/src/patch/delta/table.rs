//! The default code table (RFC 3284 §5.6).

/// What an instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Noop,
    /// The next bytes of the data section.
    Add,
    /// One byte of the data section, again and again.
    Run,
    /// Bytes from an address, which is written in this mode.
    Copy(u8),
}

/// One of the two instructions of a code; a size of 0 follows the code.
#[derive(Clone, Copy, Debug)]
pub(super) struct Instruction {
    pub(super) kind: Kind,
    pub(super) size: u8,
}

/// Ways to write an address (§5.3).
pub(super) const MODES: u8 = 9;
/// The code of an ADD whose size follows; those of 1 to [`LONGEST_ADD`] bytes come after it.
pub(super) const ADD: u8 = 1;
pub(super) const LONGEST_ADD: u8 = 17;
/// The code of a COPY in mode 0 whose size follows; those of [`SHORTEST_COPY`] bytes and more come after it.
pub(super) const COPY: u8 = 19;
pub(super) const SHORTEST_COPY: u8 = 4;
/// Codes for each mode of COPY.
pub(super) const COPY_CODES: u8 = 16;

pub(super) static TABLE: [[Instruction; 2]; 256] = table();

const NOOP: Instruction = instruction(Kind::Noop, 0);

const fn instruction(kind: Kind, size: u8) -> Instruction {
    Instruction { kind, size }
}

const fn table() -> [[Instruction; 2]; 256] {
    let mut table = [[instruction(Kind::Run, 0), NOOP]; 256];
    let mut code = ADD as usize;
    let mut size = 0;
    while size <= LONGEST_ADD {
        table[code] = [instruction(Kind::Add, size), NOOP];
        (code, size) = (code + 1, size + 1);
    }
    let mut mode = 0;
    while mode < MODES {
        table[code] = [instruction(Kind::Copy(mode), 0), NOOP];
        (code, size) = (code + 1, SHORTEST_COPY);
        while size < SHORTEST_COPY + COPY_CODES - 1 {
            table[code] = [instruction(Kind::Copy(mode), size), NOOP];
            (code, size) = (code + 1, size + 1);
        }
        mode += 1;
    }
    let mut mode = 0;
    while mode < MODES {
        let longest_copy = if mode < 6 { 6 } else { 4 };
        let mut added = 1;
        while added <= 4 {
            let mut copied = SHORTEST_COPY;
            while copied <= longest_copy {
                table[code] = [instruction(Kind::Add, added), instruction(Kind::Copy(mode), copied)];
                (code, copied) = (code + 1, copied + 1);
            }
            added += 1;
        }
        mode += 1;
    }
    let mut mode = 0;
    while mode < MODES {
        table[code] = [instruction(Kind::Copy(mode), SHORTEST_COPY), instruction(Kind::Add, 1)];
        (code, mode) = (code + 1, mode + 1);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::{Kind, TABLE};

    #[test]
    fn the_codes_are_those_of_the_rfc() {
        let code = |code: usize| TABLE[code].map(|instruction| (instruction.kind, instruction.size));
        let none = (Kind::Noop, 0);
        for (number, expected) in [
            (0, [(Kind::Run, 0), none]),
            (1, [(Kind::Add, 0), none]),
            (18, [(Kind::Add, 17), none]),
            (19, [(Kind::Copy(0), 0), none]),
            (34, [(Kind::Copy(0), 18), none]),
            (35, [(Kind::Copy(1), 0), none]),
            (162, [(Kind::Copy(8), 18), none]),
            (163, [(Kind::Add, 1), (Kind::Copy(0), 4)]),
            (174, [(Kind::Add, 4), (Kind::Copy(0), 6)]),
            (234, [(Kind::Add, 4), (Kind::Copy(5), 6)]),
            (235, [(Kind::Add, 1), (Kind::Copy(6), 4)]),
            (246, [(Kind::Add, 4), (Kind::Copy(8), 4)]),
            (247, [(Kind::Copy(0), 4), (Kind::Add, 1)]),
            (255, [(Kind::Copy(8), 4), (Kind::Add, 1)]),
        ] {
            assert_eq!(code(number), expected, "{number}");
        }
    }
}
