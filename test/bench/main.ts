// npm run bench [-- NAME...] [--large]: prints one JSON line per figure on stdout, and progress on stderr.
// With --large, the suite `controller` measures 20,000 XRs, and nothing else.
import { parseArgs } from "node:util";

const { values, positionals: wanted } = parseArgs({ options: { large: { type: "boolean" } }, allowPositionals: true });
if (values.large === true && wanted.join() !== "controller") {
  console.error("bench: --large is for the suite controller: npm run bench -- controller --large");
  process.exit(2);
}
const suites = {
  compose: () => import("./compose.bench.ts"),
  growth: () => import("./growth.bench.ts"),
  validate: () => import("./validate.bench.ts"),
  call: () => import("./call.bench.ts"),
  runner: () => import("./runner.bench.ts"),
  render: () => import("./render.bench.ts"),
  sdk: () => import("./sdk.bench.ts"),
  functionio: () => import("./functionio.bench.ts"),
  pull: () => import("./pull.bench.ts"),
  build: () => import("./build.bench.ts"),
  kubernetes: () => import("./kubernetes.bench.ts"),
  functions: () => import("./functions.bench.ts"),
  wasm: () => import("./wasm.bench.ts"),
  forms: () => import("./forms.bench.ts"),
  "package-composites": () => import("./package-composites.bench.ts"),
  packages: () => import("./packages.bench.ts"),
  definitions: () => import("./definitions.bench.ts"),
  controller: () => (values.large === true ? import("./controller-large.ts") : import("./controller.bench.ts")),
};

const unknown = wanted.filter((name) => !Object.hasOwn(suites, name));
if (unknown.length > 0) {
  console.error(`bench: no such suite: ${unknown.join(", ")} (there are ${Object.keys(suites).join(", ")})`);
  process.exit(2);
}
for (const [name, load] of Object.entries(suites)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  console.error(`bench: ${name}`);
  const suite = await load();
  await suite.run();
}
