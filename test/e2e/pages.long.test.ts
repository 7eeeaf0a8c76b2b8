import { readFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { consoleCommands, type FencedBlock, fencedBlocks } from "../harness/fenced-blocks.ts";
import { type Need, needs } from "../harness/needs.ts";
import { CHECKOUT } from "../harness/paths.ts";
import { buildExampleImages, pretendCheckout, runCommand } from "../harness/pretend-checkout.ts";
import { Workspace } from "../harness/workspace.ts";

// Follows README.md and pages of docs from start to end: writes each file, runs each command, and compares
// its output with the page (`...` matches anything). The opening line of a block marks it:
//
//     console [exit=CODE] [needs=PROGRAM]
//     LANGUAGE FILE [before the last line]
//
// Other blocks are skipped.

/** The pages, with the least number of their steps. */
const PAGES = {
  "README.md": 3,
  "docs/get-started/first-render.md": 2,
  "docs/get-started/first-function.md": 15,
  "docs/reference/function-io.md": 2,
  // Continues the first function.
  "docs/tasks/function-forms.md": 25,
  "docs/get-started/coming-from-crossplane.md": 3,
  "docs/tasks/recordings.md": 3,
};

let workspace: Workspace;

beforeAll(async () => {
  workspace = await Workspace.create();
  await pretendCheckout(workspace);
});

afterAll(async () => {
  await workspace[Symbol.asyncDispose]();
});

/** A step of a page. */
interface Step {
  title: string;
  /** Requirements that the machine may lack. */
  need?: Need[];
  /** Runs the step, and returns the value to compare with `expected`. */
  run(): Promise<unknown>;
  expected: unknown;
}

function steps(page: string): Step[] {
  return fencedBlocks(readFileSync(join(CHECKOUT, page), "utf8")).flatMap((block) => {
    if (block.language === "console") return commands(block);
    return block.rest === "" ? [] : [file(block)];
  });
}

function commands({ rest, text }: FencedBlock): Step[] {
  const code = Number(/\bexit=(\d+)/.exec(rest)?.[1] ?? 0);
  const need = /\bneeds=(\w+)/.exec(rest)?.slice(1) as Need[] | undefined;
  return consoleCommands(text).map(({ command, output }) => ({
    title: command,
    ...(need && { need }),
    async run() {
      const { stdout, stderr, code } = await runCommand(workspace, command);
      return { stdout, stderr, code };
    },
    expected: expect.objectContaining({
      code,
      // Only stdout: a build that makes a base reports that on stderr. scripts/test.sh prints the summary of npm test.
      [code === 0 ? "stdout" : "stderr"]: matching(command.startsWith("npm test") ? "..." : output),
    }),
  }));
}

/** Matches the output on the page; `...` matches anything. */
function matching(shown: string): unknown {
  const source = shown.split("...").map(RegExp.escape).join("[\\s\\S]*?");
  return expect.stringMatching(new RegExp(`^${source}$`));
}

function file({ rest, text }: FencedBlock): Step {
  const [name = "", where = ""] = rest.split(/ (.*)/);
  return {
    title: rest,
    async run() {
      const path = workspace.path(name);
      const before = where === "" ? "" : await readFile(path, "utf8");
      await writeFile(path, insert(before, text, where));
      return await readFile(path, "utf8");
    },
    expected: expect.stringContaining(text),
  };
}

function insert(before: string, text: string, where: string): string {
  switch (where) {
    case "":
      return text;
    case "before the last line":
      return before.replace(/.*\n$/, (last) => text + last);
    default:
      throw new Error(`unknown position: ${where}`);
  }
}

describe.each(Object.entries(PAGES))("%s", needs("crun"), (page, least) => {
  beforeAll(async () => {
    await buildExampleImages(workspace, "quickstart");
  });

  test.for(steps(page))("$title", async ({ need, run, expected }, { task, skip }) => {
    const { skip: lacks, meta } = needs(...(need ?? []));
    Object.assign(task.meta, meta);
    skip(lacks, meta.missing);
    expect(await run()).toEqual(expected);
  });

  test("has steps", () => {
    expect(steps(page).length).toBeGreaterThanOrEqual(least);
  });
});
