import { NotImitated } from "./not-imitated.ts";

// The defaults of the flags.
const FLAGS = {
  namespace: "default",
  output: "",
  selector: "",
  for: "",
  timeout: "",
  type: "strategic",
  patch: "",
  subresource: "",
  wait: "true",
  all: "false",
  "all-namespaces": "false",
  filename: "",
  as: "",
};
type Flag = keyof typeof FLAGS;

const SHORT: Readonly<Record<string, Flag>> = {
  n: "namespace",
  o: "output",
  l: "selector",
  p: "patch",
  A: "all-namespaces",
  f: "filename",
};
const SWITCHES: ReadonlySet<Flag> = new Set(["wait", "all", "all-namespaces"]);

/** The arguments of kubectl. */
export interface CommandLine {
  readonly verb: string;
  readonly words: readonly string[];
  readonly flags: Readonly<Record<Flag, string>>;
  /** The flags that the command has. */
  readonly given: ReadonlySet<Flag>;
}

/** @throws {NotImitated} a flag that is not imitated, or given twice */
export function parseCommandLine(args: readonly string[]): CommandLine {
  const flags: Record<Flag, string> = { ...FLAGS };
  const given = new Set<Flag>();
  const words: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] ?? "";
    if (!arg.startsWith("-") || arg === "-") {
      words.push(arg);
      continue;
    }
    const [, dashes, name = "", value] = /^(--?)([^=]+)(?:=(.*))?$/s.exec(arg) ?? [];
    const flag = dashes === "-" ? SHORT[name] : name;
    if (!isFlag(flag) || given.has(flag)) throw new NotImitated(arg);
    given.add(flag);
    if (value === undefined && SWITCHES.has(flag)) flags[flag] = "true";
    else flags[flag] = value ?? args[++at] ?? "";
  }
  const [verb = "", ...others] = words;
  return { verb, words: others, flags, given };
}

function isFlag(name: string | undefined): name is Flag {
  return name !== undefined && Object.hasOwn(FLAGS, name);
}
