import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CHECKOUT } from "../harness/paths.ts";
import { files } from "./imports.ts";

// Reconcilers that plan their writes. Dry runs would miss a write outside the plan, which has no actor and no guard.
const PLANNED: readonly string[] = ["claim", "composite", "definition", "package", "revision", "runtime"].map(
  (room) => `packages/controller/src/${room}`,
);
const WRITE = /\bclient\s*\.\s*(?:apply|create|patch|update|delete)\(/;

/** The lines that write to an API server. */
function writesIn(text: string): string[] {
  return text.split("\n").filter((line) => WRITE.test(line));
}

test("a line that writes is recognized", () => {
  expect(writesIn("const a = await actors.xr.client.patch(reference)\nclient.get(reference)")).toHaveLength(1);
});

test.each(PLANNED)("%s writes only by plans", (folder) => {
  const sources = files(`${folder}/**/*.ts`).filter((file) => !file.endsWith(".test.ts"));
  expect(sources.length).toBeGreaterThan(0);
  const found = sources.flatMap((file) =>
    writesIn(readFileSync(join(CHECKOUT, file), "utf8")).map((line) => `${file}: ${line.trim()}`),
  );
  expect(found).toEqual([]);
});
