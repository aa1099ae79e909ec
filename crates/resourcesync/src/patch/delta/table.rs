//! The constants of the format and its default code table (RFC 3284 §4, §5.6).

/// The first bytes of a delta: "VCD" with its high bits, and the version of the format (§4.1).
pub(super) const MAGIC: [u8; 4] = [0xd6, 0xc3, 0xc4, 0];

/// Win_Indicator (§4.2): the segment is in the version before.
pub(super) const SOURCE: u8 = 1;
/// Win_Indicator (§4.2): the segment is in the bytes decoded so far.
pub(super) const TARGET: u8 = 2;

/// The effect of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InstructionKind {
    Noop,
    /// Appends the next bytes of the data section.
    Add,
    /// Appends one byte of the data section repeatedly.
    Run,
    /// Appends bytes from an address, which is written in this mode.
    Copy(u8),
}

/// One of the two instructions of a code. A size of 0 means that the size follows the code.
#[derive(Clone, Copy, Debug)]
pub(super) struct Instruction {
    pub(super) kind: InstructionKind,
    pub(super) size: u8,
}

/// Modes of writing an address (§5.3).
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

const NOOP: Instruction = instruction(InstructionKind::Noop, 0);

const fn instruction(kind: InstructionKind, size: u8) -> Instruction {
    Instruction { kind, size }
}

const fn table() -> [[Instruction; 2]; 256] {
    let mut table = [[instruction(InstructionKind::Run, 0), NOOP]; 256];
    let mut code = ADD as usize;
    let mut size = 0;
    while size <= LONGEST_ADD {
        table[code] = [instruction(InstructionKind::Add, size), NOOP];
        (code, size) = (code + 1, size + 1);
    }
    let mut mode = 0;
    while mode < MODES {
        table[code] = [instruction(InstructionKind::Copy(mode), 0), NOOP];
        (code, size) = (code + 1, SHORTEST_COPY);
        while size < SHORTEST_COPY + COPY_CODES - 1 {
            table[code] = [instruction(InstructionKind::Copy(mode), size), NOOP];
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
                table[code] = [
                    instruction(InstructionKind::Add, added),
                    instruction(InstructionKind::Copy(mode), copied),
                ];
                (code, copied) = (code + 1, copied + 1);
            }
            added += 1;
        }
        mode += 1;
    }
    let mut mode = 0;
    while mode < MODES {
        table[code] =
            [instruction(InstructionKind::Copy(mode), SHORTEST_COPY), instruction(InstructionKind::Add, 1)];
        (code, mode) = (code + 1, mode + 1);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::{InstructionKind, TABLE};

    #[test]
    fn the_codes_are_those_of_the_rfc() {
        let code = |code: usize| TABLE[code].map(|instruction| (instruction.kind, instruction.size));
        let none = (InstructionKind::Noop, 0);
        for (number, expected) in [
            (0, [(InstructionKind::Run, 0), none]),
            (1, [(InstructionKind::Add, 0), none]),
            (18, [(InstructionKind::Add, 17), none]),
            (19, [(InstructionKind::Copy(0), 0), none]),
            (34, [(InstructionKind::Copy(0), 18), none]),
            (35, [(InstructionKind::Copy(1), 0), none]),
            (162, [(InstructionKind::Copy(8), 18), none]),
            (163, [(InstructionKind::Add, 1), (InstructionKind::Copy(0), 4)]),
            (174, [(InstructionKind::Add, 4), (InstructionKind::Copy(0), 6)]),
            (234, [(InstructionKind::Add, 4), (InstructionKind::Copy(5), 6)]),
            (235, [(InstructionKind::Add, 1), (InstructionKind::Copy(6), 4)]),
            (246, [(InstructionKind::Add, 4), (InstructionKind::Copy(8), 4)]),
            (247, [(InstructionKind::Copy(0), 4), (InstructionKind::Add, 1)]),
            (255, [(InstructionKind::Copy(8), 4), (InstructionKind::Add, 1)]),
        ] {
            assert_eq!(code(number), expected, "{number}");
        }
    }
}
