import { execFileSync } from "node:child_process";
import { join } from "node:path";
import process from "node:process";

/** The programs as their launchers start them. */
export const PROGRAMS = {
  xfn: "packages/cli/dist/xfn.js",
  "xfn-runner": "packages/runner/dist/program/main.js",
  "xfn-controller": "packages/controller/dist/program/main.js",
} as const;

export type Program = keyof typeof PROGRAMS;

/** A flag, an argument or a command in the help of a command. */
export interface HelpRow {
  readonly term: string;
  readonly text: string;
}

/** The help of one command. */
interface Help {
  /** Without the name of the program: `build [options] [dir]`. */
  readonly usage: string;
  readonly description: string;
  /** The tables by their titles, such as `Arguments` and `Options`. */
  readonly tables: ReadonlyMap<string, readonly HelpRow[]>;
}

/** Reads the help of a command. @param command such as `["images", "rm"]` */
export function helpOf(program: Program, command: readonly string[]): Help {
  const main = join(import.meta.dirname, "../..", PROGRAMS[program]);
  const text = execFileSync(process.execPath, [main, ...command, "--help"], { encoding: "utf8" });
  const [usage = "", description = "", ...paragraphs] = text.split(/\n\n+/);
  const tables = new Map<string, readonly HelpRow[]>();
  for (const paragraph of paragraphs) {
    const [, title, lines] = /^([A-Z][^\n]*):\n(.*)/s.exec(paragraph) ?? [];
    // Examples and notes follow the tables.
    if (title === undefined || lines === undefined || title.startsWith("Example")) break;
    const rows = rowsOf(lines);
    if (rows.length > 0) tables.set(title, rows);
  }
  const oneLine = (part: string): string => part.replaceAll(/\s+/g, " ").trim();
  return { usage: oneLine(usage.replace(`Usage: ${program} `, "")), description: oneLine(description), tables };
}

function rowsOf(lines: string): HelpRow[] {
  const rows: HelpRow[] = [];
  for (const line of lines.split("\n")) {
    const [, term, text = ""] = /^ {2}(\S.*?)(?: {2,}(.*))?$/.exec(line) ?? [];
    const last = rows.at(-1);
    if (term !== undefined) rows.push({ term, text });
    else if (last !== undefined) rows.splice(-1, 1, { term: last.term, text: `${last.text} ${line.trim()}`.trim() });
  }
  return rows.filter(({ term }) => !/--help\b|--version\b|^help /.test(term));
}
