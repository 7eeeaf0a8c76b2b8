import { readFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { consoleCommands, type FencedBlock, fencedBlocks } from "../harness/fenced-blocks.ts";
import { needs } from "../harness/needs.ts";
import { CHECKOUT } from "../harness/paths.ts";
import { buildExampleImages, pretendCheckout, runCommand } from "../harness/pretend-checkout.ts";
import { Workspace } from "../harness/workspace.ts";

// README.md and docs/writing-functions.md from their first lines to their last, as a reader does it: each file is written, each command run and
// its output compared with what the page shows (`...` stands for anything). A block says so in its opening line:
//
//     console [exit=CODE]
//     LANGUAGE FILE [before the last line]
//
// Others are there to be read.

const PAGES = ["README.md", "docs/writing-functions.md"];

let workspace: Workspace;

beforeAll(async () => {
  workspace = await Workspace.create();
  await pretendCheckout(workspace);
});

afterAll(async () => {
  await workspace[Symbol.asyncDispose]();
});

/** Something that a reader does. */
interface Step {
  title: string;
  /** Does it, and returns what to compare with `expected`. */
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
  const code = Number(/^exit=(\d+)$/.exec(rest)?.[1] ?? 0);
  return consoleCommands(text).map(({ command, output }) => ({
    title: command,
    async run() {
      const { stdout, stderr, code } = await runCommand(workspace, command);
      return { stdout, stderr, code };
    },
    expected: expect.objectContaining({
      code,
      // A build says on stderr when it makes a base. The summary of `npm test` is made by scripts/test.sh.
      [code === 0 ? "stdout" : "stderr"]: matching(command.startsWith("npm test") ? "..." : output),
    }),
  }));
}

/** What the page shows, `...` standing for anything. */
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
      await writeFile(path, placed(before, text, where));
      return await readFile(path, "utf8");
    },
    expected: expect.stringContaining(text),
  };
}

function placed(before: string, text: string, where: string): string {
  switch (where) {
    case "":
      return text;
    case "before the last line":
      return before.replace(/.*\n$/, (last) => text + last);
    default:
      throw new Error(`no such place: ${where}`);
  }
}

describe.each(PAGES)("%s", needs("crun"), (page) => {
  beforeAll(async () => {
    await buildExampleImages(workspace, "quickstart");
  });

  test.each(steps(page))("$title", async ({ run, expected }) => {
    expect(await run()).toEqual(expected);
  });

  test("it has steps", () => {
    expect(steps(page).length).toBeGreaterThan(5);
  });
});
