// npm run bench [-- NAME...]: prints one JSON line per figure on stdout, and progress on stderr.
const suites = {
  compose: () => import("./compose.bench.ts"),
  call: () => import("./call.bench.ts"),
  runner: () => import("./runner.bench.ts"),
  render: () => import("./render.bench.ts"),
  sdk: () => import("./sdk.bench.ts"),
  functionio: () => import("./functionio.bench.ts"),
  pull: () => import("./pull.bench.ts"),
  build: () => import("./build.bench.ts"),
  kubernetes: () => import("./kubernetes.bench.ts"),
  controller: () => import("./controller.bench.ts"),
};

const wanted = process.argv.slice(2);
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
