import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

test("reading definitions loads no CEL, which would slow down every render with --xrd", () => {
  const files = [new URL("./index.ts", import.meta.url).href];
  const packages = new Set<string>();
  for (const file of files) {
    const source = readFileSync(new URL(file), "utf8");
    for (const [, specifier = ""] of source.matchAll(/^(?:import|export|\}) (?!type ).*from "([^"]+)";$/gm)) {
      const target = new URL(specifier, file).href;
      if (!specifier.startsWith(".")) packages.add(specifier);
      else if (!files.includes(target)) files.push(target);
    }
  }
  expect(files.length).toBeGreaterThan(20);
  expect([...packages].toSorted()).toEqual(["@xfn/errors", "@xfn/json", "@xfn/units", "node:module"]);
});
