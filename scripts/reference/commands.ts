import { helpOf, PROGRAMS } from "./help.ts";
import { table } from "./table.ts";

// Flags that several commands have with the same text are described once.
const SHARED_BY = 2;

interface Section {
  readonly title: string;
  readonly description: string;
  readonly usage: string;
  readonly rows: readonly (readonly [term: string, text: string])[];
}

/** The commands of all programs with their arguments and flags; settings.md has those of the two services. */
export function commandsPage(): string {
  const sections = Object.keys(PROGRAMS).flatMap((program) => sectionsOf(program as keyof typeof PROGRAMS, []));
  const count = new Map<string, number>();
  const keyOf = (row: readonly string[]): string => row.join("\n");
  for (const { rows } of sections) for (const row of rows) count.set(keyOf(row), (count.get(keyOf(row)) ?? 0) + 1);
  const isShared = (row: readonly string[]): boolean =>
    row[0]?.startsWith("-") === true && (count.get(keyOf(row)) ?? 0) >= SHARED_BY;
  const shared = [...count.keys()].map((key) => key.split("\n")).filter(isShared);
  return `# Commands

\`--help\` of each command prints the same with examples. Exit code 0 means success, 1 a fatal result or a failed run, 2 wrong usage or input.
stdout carries only complete results.
${sections.map((section) => printed(section, isShared)).join("")}
## Flags of many commands

${table(
  ["flag", ""],
  shared.map(([term = "", text = ""]) => [`\`${term}\``, cell(text)]),
)}
`;
}

function sectionsOf(program: keyof typeof PROGRAMS, command: readonly string[]): Section[] {
  const { usage, description, tables } = helpOf(program, command);
  const commands = tables.get("Commands");
  if (commands !== undefined)
    return commands.flatMap(({ term }) => sectionsOf(program, [...command, term.replace(/[ |].*/, "")]));
  const title = [program, ...command].join(" ");
  if (["xfn-runner serve", "xfn-controller start"].includes(title))
    return [
      {
        title,
        description: `${description}: see [its settings](settings.md#${title.replace(" ", "-")})`,
        usage,
        rows: [],
      },
    ];
  const rows = [...tables.values()].flat().map(({ term, text }) => [term, text] as const);
  return [{ title, description, usage, rows }];
}

function printed({ title, description, usage, rows }: Section, isShared: (row: readonly string[]) => boolean): string {
  const own = rows.filter((row) => !isShared(row)).map(([term, text]) => [`\`${term}\``, cell(text)]);
  const shared = rows.filter(isShared).map(([term]) => `\`${term.replace(/^-\w, /, "").replace(/ .*/, "")}\``);
  const program = title.replace(/ .*/, "");
  return `
## ${title}

\`${program} ${usage.replace("[options] ", "")}\` ${description === "" ? "" : `- ${cell(description)}`}
${own.length === 0 ? "" : `\n${table(["", ""], own)}\n`}${shared.length === 0 ? "" : `\n[Also](#flags-of-many-commands) ${shared.join(", ")}.\n`}`;
}

/** Text for a table: placeholders such as \`<file>\` are no HTML. */
function cell(text: string): string {
  return text.replaceAll("<", "&lt;");
}
