import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CHECKOUT } from "../harness/paths.ts";
import { files } from "./imports.ts";

// GitHub does not show what follows the language of a fenced block.
test.each(files("{README,docs/**/*}.md"))("%s names the file of each block in its text", (page) => {
  const text = readFileSync(join(CHECKOUT, page), "utf8");
  const blocks = [...text.matchAll(/(.*)\n\n?^```\w+ ([\w./-]+\.\w+)$/gm)];
  const unnamed = blocks.filter(([, before = "", file = ""]) => !before.includes(`\`${file}\``));
  expect(unnamed.map(([, , file]) => file)).toEqual([]);
});
