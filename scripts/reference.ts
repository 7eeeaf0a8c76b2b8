// Writes the generated pages of docs/reference from the built programs and the sources: npm run reference. With
// --check, it reports the pages that are not current, and changes nothing.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { CHECKOUT, writeGenerated } from "./generated-file.ts";
import { commandsPage } from "./reference/commands.ts";
import { conditionsPage } from "./reference/conditions.ts";
import { errorsPage } from "./reference/errors.ts";
import { kindsPage } from "./reference/kinds.ts";
import { metricsPage } from "./reference/metrics.ts";
import { settingsPage } from "./reference/settings.ts";

const NOTE =
  "<!-- scripts/reference.ts writes this page from the code: change the code, and run `npm run reference`. -->\n";

/** The text of each page. @param current the page as it is */
const PAGES: Readonly<Record<string, (current: string) => string | Promise<string>>> = {
  "commands.md": () => NOTE + commandsPage(),
  "settings.md": () => NOTE + settingsPage(),
  "metrics.md": async () => NOTE + (await metricsPage()),
  "errors.md": () => NOTE + errorsPage(),
  "kinds.md": () => NOTE + kindsPage(),
  "conditions.md": conditionsPage,
};

for (const [name, write] of Object.entries(PAGES)) {
  const path = `docs/reference/${name}`;
  const file = join(CHECKOUT, path);
  writeGenerated(path, await write(existsSync(file) ? readFileSync(file, "utf8") : ""), "reference");
}
