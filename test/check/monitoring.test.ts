import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CHECKOUT } from "../harness/paths.ts";

const read = (path: string): string => readFileSync(join(CHECKOUT, path), "utf8");
const ALERTS = read("deploy/monitoring/alerts.yaml");
const NAMES = [...ALERTS.matchAll(/- alert: (\w+)/g)].map(([, name = ""]) => name);

test("each alert has a section in docs/tasks/alerts.md, and each section an alert", () => {
  const sections = [...read("docs/tasks/alerts.md").matchAll(/^### (\w+)$/gm)].map(([, name]) => name);
  expect(sections).toEqual(NAMES);
});

test("each alert has a unit test in which it fires", () => {
  const tests = read("test/monitoring/alerts.promtool.yaml");
  const fires = [...tests.matchAll(/- alertname: (\w+)/g)].map(([, name]) => name);
  expect([...new Set(fires)].toSorted()).toEqual(NAMES.toSorted());
});

test.each(["alerts.yaml", "dashboard.json"])("the metrics of %s exist", (file) => {
  const known = new Set([...read("docs/reference/metrics.md").matchAll(/^- `(xfn_\w+)`/gm)].map(([, name]) => name));
  const used = [...read(`deploy/monitoring/${file}`).matchAll(/\bxfn_(?:controller|runner)_\w+/g)];
  const unknown = used.map(([name]) => name.replace(/_bucket$/, "")).filter((name) => !known.has(name));
  expect(used.length).toBeGreaterThan(10);
  expect(unknown).toEqual([]);
});
