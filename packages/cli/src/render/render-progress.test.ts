import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { main } from "../program.ts";
import type { Output } from "../terminal/output.ts";

let dir: string;
beforeEach(() => {
  dir = temporaryFolder();
});

function write(name: string, content: string): string {
  const path = join(dir, name);
  writeFileSync(path, content);
  return path;
}

const XR = "apiVersion: example.org/v1\nkind: XThing\nmetadata: {name: thing}\n";
const COMPOSITION = `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: things}
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: XThing}
  mode: Pipeline
  pipeline:
  - {step: silent, functionRef: {name: function-silent}}
`;
const functions = (port: number): string => `apiVersion: pkg.crossplane.io/v1
kind: Function
metadata:
  name: function-silent
  annotations:
    render.crossplane.io/runtime: Development
    render.crossplane.io/runtime-development-target: 127.0.0.1:${port}
`;

test("a terminal shows the step of a package whose function does not answer", async () => {
  const sockets: Socket[] = [];
  const server = createServer((socket) => void sockets.push(socket.on("error", () => undefined)));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const lines: (string | undefined)[] = [];
  const output: Output = {
    interactive: true,
    columns: 80,
    product: async () => undefined,
    note: () => undefined,
    status: (line) => void lines.push(line),
  };
  const files = [
    write("xr.yaml", XR),
    write("composition.yaml", COMPOSITION),
    write("functions.yaml", functions(port)),
  ];
  const rendering = main(["render", ...files, "--cache-dir", "/dev/null/store"], output);
  try {
    await expect.poll(() => lines).toContainEqual(expect.stringContaining('step "silent" runs, '));
  } finally {
    for (const socket of sockets) socket.destroy();
    server.close();
  }
  expect(await rendering).toBe(1);
});
