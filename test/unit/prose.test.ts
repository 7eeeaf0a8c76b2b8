import { describe, expect, test } from "vitest";
import { problemsInPage } from "../../scripts/prose/pages.ts";
import { problemsInSource } from "../../scripts/prose/sources.ts";

const inSource = (source: string): string[] => problemsInSource("a.ts", source);
const inPage = (page: string): string[] => problemsInPage("a.md", page);

describe("sources", () => {
  test.each([
    ["// What a step writes.\nwrite();", "What"],
    ["/** Of the event loop. */\nlongestPauseMs;", "Of"],
    ["// Reads a file. Who reads it later waits.\nread();", "Who"],
    ["/**\n * Reads a file.\n *\n * - Of two the later wins\n */\nread();", "Of"],
  ])("a comment must name its subject: %j", (source, opener) => {
    expect(inSource(source)).toEqual([`a.ts:1: a sentence opens with "${opener}": name the subject`]);
  });

  test.each([
    ["// An empty text is no name.\nname();", "is no name"],
    ["// Texts that are\n// no names.\nname();", "are\n no names"],
    ['throw new Error("the value is no number");', "is no number"],
    ["test(`keeps whatever it reads`, () => {});", "whatever"],
  ])("%j has a phrase that is not used", (source, phrase) => {
    expect(inSource(source)).toEqual([expect.stringContaining(`a.ts:1: "${phrase}": write `)]);
  });

  test.each([
    ["/** The key of a pair. */\nconst pairKey = 1;", "pairKey"],
    ["/** A dependency. */\nexport interface Dependencies {}", "Dependencies"],
    ["class A {\n  /** The compiled module. */\n  readonly #compiledModule = 1;\n}", "compiledModule"],
    ["class A {\n  /** Parts. */\n  *parts() {}\n}", "parts"],
    ["interface A {\n  /** The type. */\n  type: string;\n}", "type"],
  ])("a doc comment must not repeat the name: %j", (source, name) => {
    expect(inSource(source)).toEqual([expect.stringContaining(`the comment repeats the name ${name}: delete it`)]);
  });

  test.each([
    "// There is no room, and a call is no longer queued. Without what it reads, it waits.\nread();",
    "/** The key of a pair, in bytes. */\nconst pairKey = 1;",
    "/** The `key` of a pair. */\nconst pairKey = 1;",
    "// The key of a pair.\nconst pairKey = 1;",
    'run("what it reads");',
  ])("%j has no problems", (source) => {
    expect(inSource(source)).toEqual([]);
  });
});

describe("pages", () => {
  test("have the same phrases as comments", () => {
    expect(inPage("# Names\n\nAn empty text is no name.\n")).toEqual([expect.stringContaining('a.md:3: "is no name"')]);
  });

  test("are not sources, so that names in them are not checked", () => {
    expect(inPage("judgeExit\n")).toEqual([]);
    expect(inSource("judgeExit;\n")).toEqual(["a.ts:1: the name judgeExit: write evaluate, classify"]);
  });
});
