import { Command } from "commander";
import { expect, test } from "vitest";
import { flagIn } from "./command-tree.ts";
import { declareCompletion } from "./declare-completion.ts";

async function complete(...line: string[]): Promise<string> {
  const program = new Command("prog").exitOverride().enablePositionalOptions();
  program.command("trace").option("--context <name>").argument("<kind>").argument("<name>");
  let written = "";
  declareCompletion(program, {
    arguments: { trace: ["kinds", "objects"] },
    list: async (kind, words) => await Promise.resolve([`${kind}:${flagIn(words, "--context")}`, "two words", "$(x)"]),
    write: (text) => void (written += text),
    usageError: (message) => new Error(message),
  });
  await program.parseAsync(["__complete", "arguments", ...line], { from: "user" });
  return written;
}

test.each([
  [["trace"], "kinds:undefined"],
  [["trace", "--context", "a"], "kinds:a"],
  [["trace", "--context=a"], "kinds:a"],
  [["trace", "--context", "=", "a"], "kinds:a"],
  [["trace", "--context", "=", "a", "pods"], "objects:a"],
])("completes %j, and names only words that no shell reads otherwise", async (line, expected) => {
  expect(await complete(...line)).toBe(`${expected}\n`);
});
