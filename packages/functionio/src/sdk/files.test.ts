import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

/** All files that a file imports, and all that they import; and what is imported from outside the package. */
function imports(entry: string): { files: Set<string>; outside: Set<string> } {
  const files = new Set<string>();
  const outside = new Set<string>();
  const visit = (file: string): void => {
    if (files.has(file)) return;
    files.add(file);
    const source = readFileSync(file, "utf8");
    const statements = /^(?:import|export)\s+(type\s+)?[\w*\s{},$]+?\s+from\s+"([^"]+)"|^import\s+"([^"]+)"/gm;
    for (const [, types, from, bare] of source.matchAll(statements)) {
      const specifier = from ?? bare ?? "";
      if (types !== undefined) continue;
      if (specifier.startsWith(".")) visit(resolve(dirname(file), specifier));
      else outside.add(specifier);
    }
  };
  visit(fileURLToPath(new URL(entry, import.meta.url)));
  return { files, outside };
}

// Every call of an unbundled function imports the SDK. Each further file costs about half a millisecond.
test("the SDK loads at most six files, and no library", () => {
  const { files, outside } = imports("./index.ts");
  expect([...outside]).toEqual([]);
  expect(files.size).toBeLessThanOrEqual(6);
});
