import { type HelpRow, helpOf, type Program } from "./help.ts";

interface Section {
  /** The program and the command. */
  readonly title: string;
  readonly usage: string;
  readonly description: string;
  readonly rows: readonly HelpRow[];
}

// Their flags are settings, which have a page of their own.
const SERVICES: readonly string[] = ["xfn-runner serve", "xfn-controller start"];

/** The commands of all programs with their arguments and flags. */
export function commandsPage(): string {
  const programs = ["xfn", "xfn-runner", "xfn-controller"] as const;
  const sections = programs.flatMap((program) => sectionsOf(program, []));
  const shared = sharedFlags(sections);
  return `# Commands

\`--help\` of each command says more, with examples. Exit code 0 means success, 1 a fatal result or a failed run, 2 wrong usage or input.
stdout carries only complete results.
${sections.map((section) => printed(section, shared)).join("")}
## Flags of several commands

${list([...shared.values()])}`;
}

function sectionsOf(program: Program, command: readonly string[]): Section[] {
  const { usage, description, tables } = helpOf(program, command);
  const title = [program, ...command].join(" ");
  const commands = tables.get("Commands");
  if (commands !== undefined) {
    const rows = [...tables.values()].filter((table) => table !== commands).flat();
    // `xfn images` lists, and has commands too.
    const own = rows.length === 0 ? [] : [{ title, usage: usage.replace(" [command]", ""), description, rows }];
    return [...own, ...commands.flatMap(({ term }) => sectionsOf(program, [...command, term.replace(/[ |].*/, "")]))];
  }
  if (!SERVICES.includes(title)) return [{ title, usage, description, rows: [...tables.values()].flat() }];
  const settings = `[its settings](settings.md#${title.replace(" ", "-")})`;
  return [{ title, usage, description: `${description}: ${settings}`, rows: [] }];
}

/** The flags that several commands have with the same text, each once. */
function sharedFlags(sections: readonly Section[]): ReadonlyMap<string, HelpRow> {
  const flags = sections.flatMap(({ rows }) => rows).filter(({ term }) => term.startsWith("-"));
  const byText = Map.groupBy(flags, keyOf);
  return new Map([...byText].flatMap(([key, [first, ...more]]) => (first && more.length > 0 ? [[key, first]] : [])));
}

/** The flags of one line. */
const MAX_NAMED = 20;

function printed({ title, usage, description, rows }: Section, shared: ReadonlyMap<string, HelpRow>): string {
  const own = rows.filter((row) => !shared.has(keyOf(row)));
  const named = rows.filter((row) => shared.has(keyOf(row))).map(({ term }) => `\`${/--[\w-]+/.exec(term)?.[0]}\``);
  const groups = Object.values(Object.groupBy(named, (_, index) => Math.floor(index / MAX_NAMED)));
  const also = groups.map((flags = []) => `- [also](#flags-of-several-commands) ${flags.join(", ")}\n`).join("");
  return `
## ${title}

\`${title.replace(/ .*/, "")} ${usage.replace(/ ?\[options\]/, "")}\`: ${plain(description)}

${list(own)}${also}`;
}

function list(rows: readonly HelpRow[]): string {
  return rows.map(({ term, text }) => `- \`${term}\`: ${plain(shortened(text))}\n`).join("");
}

function keyOf({ term, text }: HelpRow): string {
  return `${term}\n${text}`;
}

/** The first clause of a flag's text, and its default. */
function shortened(text: string): string {
  const [first = text] = text.split(/; | \(|, such as /);
  const standard = /default: ([^;)]+)/.exec(text)?.[1];
  return standard === undefined ? first : `${first} (${standard})`;
}

/** Placeholders such as `<file>` are not HTML. */
function plain(text: string): string {
  return text.replaceAll("<", "&lt;");
}
