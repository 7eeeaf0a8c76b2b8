import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CHECKOUT } from "../harness/paths.ts";

const page = readFileSync(join(CHECKOUT, "docs/reference/conditions.md"), "utf8");

/** The reasons in the first column of a section's tables. */
function rowsOf(title: string): string[] {
  const section = new RegExp(`^## ${title}\\n(.*?)(?=^## )`, "ms").exec(page)?.[1] ?? "";
  const cells = section.split("\n").flatMap((line) => /^\| (`.*?) \|/.exec(line)?.[1] ?? []);
  return cells.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, reason = ""]) => reason)).toSorted();
}

/** The members of a union type, from its source text: types do not exist at run time. */
function wordsOf(file: string, type: string): string[] {
  const text = readFileSync(join(CHECKOUT, "packages", file), "utf8");
  const union = new RegExp(`^export type ${type} =(.*?);$`, "ms").exec(text)?.[1] ?? "";
  const words = [...union.matchAll(/^ *\| "(\w+)"/gm)].map(([, word = ""]) => word);
  expect(words, `${file}: ${type}`).not.toEqual([]);
  return words;
}

test("docs/reference/conditions.md has all reasons of composites, and no others", () => {
  const words = [
    ...wordsOf("controller/src/objects/composite-error.ts", "CompositeErrorCode"),
    ...wordsOf("controller/src/revision/selection-error.ts", "SelectionErrorCode"),
    ...wordsOf("pipeline/src/outcome/pipeline-error.ts", "PipelineErrorCode"),
    "InternalError",
    "ReconcilePaused",
    "ReconcileSuccess",
  ];
  expect(rowsOf("Composites")).toEqual(words.toSorted());
});

test("docs/reference/conditions.md has all reasons of claims, and no others", () => {
  const words = wordsOf("controller/src/claim/claim-error.ts", "ClaimErrorCode");
  expect(rowsOf("Claims")).toEqual([...words, "CompositeNotSynced", "ReconcileError", "ReconcilePaused"].toSorted());
});
