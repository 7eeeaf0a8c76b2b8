// WebAssembly modules for tests, as bytes: tests need no compiler.
// https://webassembly.github.io/spec/core/binary/index.html

/** The parts of a module. All but the code have defaults. */
export interface ModuleParts {
  /** The instructions of `_start`; see {@link call} and {@link constant}. Absent: there is no `_start`. */
  readonly start?: readonly number[];
  /** Functions that the module imports, in the order of their indexes. Default: {@link STREAMS}. */
  readonly imports?: readonly { readonly module?: string; readonly name: string; readonly type: Signature }[];
  /** Pages of 64 KiB at the start. Default 1. */
  readonly pages?: number;
  /** How many memories it has. Default 1. */
  readonly memories?: number;
  /** Initial sizes of tables. Default: none. */
  readonly tables?: readonly number[];
  /** Bytes at address 1024. */
  readonly data?: string;
  /** Further data segments, behind `data`. */
  readonly segments?: readonly { readonly address: number; readonly content: string }[];
  /** Bytes of a custom section. */
  readonly padding?: number;
}

/** The types of functions: four numbers to one, and one number to none. */
type Signature = "iiii-i" | "i-";

/** The functions that {@link call} knows by name. */
const STREAMS: NonNullable<ModuleParts["imports"]> = [
  { name: "fd_read", type: "iiii-i" },
  { name: "fd_write", type: "iiii-i" },
  { name: "proc_exit", type: "i-" },
];

const INDEXES: Readonly<Record<string, number>> = { fd_read: 0, fd_write: 1, proc_exit: 2, self: 3 };

const I32 = 0x7f;
const VOID = 0x40;
const DROP = 0x1a;
const MEMORY_GROW = [0x40, 0x00];

/** Calls an imported function, or `self`, which is `_start`. Results are dropped. */
export function call(name: "fd_read" | "fd_write" | "proc_exit" | "self", ...values: number[]): number[] {
  const drop = name.startsWith("fd_") ? [DROP] : [];
  return [...values.flatMap(constant), 0x10, INDEXES[name] ?? 0, ...drop];
}

/** Pushes a number. */
export function constant(value: number): number[] {
  return [0x41, ...signed(value)];
}

/** Repeats instructions forever. */
export function forever(...body: readonly number[]): number[] {
  return [0x03, VOID, ...body, 0x0c, 0x00, 0x0b];
}

/** Stores a number at an address. */
export function store(address: number, value: readonly number[]): number[] {
  return [...constant(address), ...value, 0x36, 0x02, 0x00];
}

/** Grows the memory by some pages. The result is dropped. */
export function grow(pages: number): number[] {
  return [...constant(pages), ...MEMORY_GROW, DROP];
}

export const TRAP: readonly number[] = [0x00];

const load = (address: number): number[] => [...constant(address), 0x28, 0x02, 0x00];

/** Writes the data at address 1024 to a descriptor. */
export function print(descriptor: number, length: number): number[] {
  return [...store(0, constant(1024)), ...store(4, constant(length)), ...call("fd_write", descriptor, 0, 1, 8)];
}

/** Reads stdin, up to 1 MiB, to address 2048. The module needs 17 pages. */
export const READ: readonly number[] = [
  ...store(0, constant(2048)),
  ...store(4, constant(1024 * 1024)),
  ...call("fd_read", 0, 0, 1, 8),
];

/** Copies stdin to stdout. */
export const ECHO: readonly number[] = [...READ, ...store(4, load(8)), ...call("fd_write", 1, 0, 1, 8)];

/** A function that returns the FunctionIO that it read. */
export function echoModule(): Buffer {
  return wasmModule({ start: ECHO, pages: 20 });
}

/** Assembles a module. */
export function wasmModule(parts: ModuleParts): Buffer {
  const { start, imports = STREAMS, pages = 1, memories = 1, tables = [], data, segments = [], padding = 0 } = parts;
  const first = data === undefined ? [] : [{ address: 1024, content: data }];
  const types = [
    [0x60, 4, I32, I32, I32, I32, 1, I32],
    [0x60, 1, I32, 0],
    [0x60, 0, 0],
  ];
  const typeOf: Record<Signature, number> = { "iiii-i": 0, "i-": 1 };
  const imported = imports.map(({ module = "wasi_snapshot_preview1", name, type }) => [
    ...text(module),
    ...text(name),
    0x00,
    typeOf[type],
  ]);
  const exported = [
    ...(memories > 0 ? [[...text("memory"), 0x02, 0x00]] : []),
    ...(start ? [[...text("_start"), 0x00, imports.length]] : []),
  ];
  const body = start && [0x00, ...start, 0x0b];
  return Buffer.concat([
    Buffer.from([0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00]),
    section(1, types),
    section(2, imported),
    section(3, body ? [[0x02]] : []),
    section(
      4,
      tables.map((size) => [0x70, 0x00, ...unsigned(size)]),
    ),
    section(
      5,
      Array.from({ length: memories }, () => [0x00, ...unsigned(pages)]),
    ),
    section(7, exported),
    section(10, body ? [[...unsigned(body.length), ...body]] : []),
    section(
      11,
      [...first, ...segments].map(({ address, content }) => [0x00, ...constant(address), 0x0b, ...text(content)]),
    ),
    ...(padding === 0 ? [] : [Buffer.from([0, ...unsigned(padding)]), Buffer.alloc(padding)]),
  ]);
}

function section(id: number, entries: readonly (readonly number[])[]): Buffer {
  const content = [...unsigned(entries.length), ...entries.flat()];
  return Buffer.from([id, ...unsigned(content.length), ...content]);
}

function text(value: string): number[] {
  const bytes = [...Buffer.from(value)];
  return [...unsigned(bytes.length), ...bytes];
}

function unsigned(value: number): number[] {
  const low = value % 128;
  return value < 128 ? [low] : [low + 128, ...unsigned(Math.floor(value / 128))];
}

function signed(value: number): number[] {
  const low = value & 0x7f;
  const rest = value >> 7;
  const isLast = (rest === 0 && (low & 0x40) === 0) || (rest === -1 && (low & 0x40) !== 0);
  return isLast ? [low] : [low | 0x80, ...signed(rest)];
}
