import { helpOf } from "./help.ts";

interface Row {
  readonly flag: string;
  readonly text: string;
  readonly standard: string;
}

/** The settings of `xfn-runner serve` and `xfn-controller start`. */
export function settingsPage(): string {
  const runner = groupsOf("xfn-runner", "serve");
  const known = new Map([...runner.values()].flat().map((row) => [row.flag, row]));
  const controller = groupsOf("xfn-controller", "start");
  return `# Settings

A flag overrides its environment variable, which overrides the default, in parentheses below. The variable of \`--max-memory\` of xfn-runner is
\`XFN_RUNNER_MAX_MEMORY\`, that of \`--poll-interval\` of xfn-controller \`XFN_CONTROLLER_POLL_INTERVAL\`. Flags with \`...\` can be repeated, and
their variables have values separated by commas. Quantities have Kubernetes' syntax (\`256Mi\`, \`500m\`), durations Go's (\`30s\`, \`1m30s\`). A program
reports all errors of its settings at once, and exits with code 2.

## xfn-runner serve
${[...runner].map(([title, rows]) => section(title, rows, new Map())).join("")}
## xfn-controller start
${[...controller].map(([title, rows]) => section(title, rows, known)).join("")}`;
}

/** The settings of a group. Settings that another program has with the same text are only named. */
function section(title: string, rows: readonly Row[], known: ReadonlyMap<string, Row>): string {
  const isKnown = ({ flag, text, standard }: Row): boolean =>
    known.get(flag)?.text === text && known.get(flag)?.standard === standard;
  const own = rows.filter((row) => !isKnown(row)).map(lineOf);
  const same = rows.filter(isKnown).map(({ flag }) => `\`${flag.replace(/ .*/, "")}\``);
  const as = same.length === 0 ? "" : `\nAs of [xfn-runner serve](#xfn-runner-serve):\n\n${linesOf(same)}`;
  return `\n### ${title}\n${own.length === 0 ? "" : `\n${own.join("")}`}${as}`;
}

/** Ten names a line. */
function linesOf(names: readonly string[]): string {
  const count = Math.ceil(names.length / 10);
  const lines = Array.from({ length: count }, (_, line) => names.slice(line * 10, line * 10 + 10));
  return lines.map((line) => `- ${line.join(", ")}\n`).join("");
}

function lineOf({ flag, standard, text }: Row): string {
  const shown = standard === "" ? "" : ` (${standard})`;
  return `- \`${flag}\`${shown}: ${text.replaceAll("<", "&lt;")}\n`;
}

function groupsOf(program: "xfn-runner" | "xfn-controller", command: string): Map<string, Row[]> {
  const groups = new Map<string, Row[]>();
  for (const [title, rows] of helpOf(program, [command]).tables) {
    groups.set(
      title,
      rows.map(({ term, text }) => rowOf(term, text)),
    );
  }
  return groups;
}

/** The help adds notes in parentheses: whether a flag can be repeated, its default, and its variable. */
function rowOf(term: string, text: string): Row {
  const [, help = text, notes = ""] = /^(.*) \(([^()]*(?:\([^()]*\)[^()]*)*)\)$/.exec(text) ?? [];
  const parts = notes.split("; ");
  const standard = parts.find((part) => part.startsWith("default: "))?.replace("default: ", "") ?? "";
  return { flag: parts.includes("repeatable") ? `${term} ...` : term, text: help, standard };
}
