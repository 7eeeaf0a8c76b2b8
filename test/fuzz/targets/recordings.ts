import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readRecording } from "@xfn/pipeline/recording";
import fc from "fast-check";
import { mutatedText } from "../mutate.ts";
import { type Target, target } from "../target.ts";

const INDEX = `format: xfn-recording
version: 1
composite: {apiVersion: example.org/v1, kind: XThing, name: thing}
status: Failed
error: {code: RunFailed, message: no}
steps:
- {name: a, calls: 2}
...
`;
const STEP = `step: a
type: Function
calls:
- {input: {kind: FunctionIO, observed: {}}, output: {desired: {resources: []}}}
- {input: {token: (secret 1)}, error: {code: Timeout, message: slow}}
...
`;

/** The files of a downloaded recording. */
export const recording: Target = target({
  input: fc.oneof(
    fc.tuple(mutatedText([INDEX]), fc.constant(STEP)),
    fc.tuple(fc.constant(INDEX), mutatedText([STEP])),
    fc.tuple(fc.constant(INDEX), fc.constant(STEP)),
  ),
  run: ([index, step]) => {
    const folder = mkdtempSync(join(tmpdir(), "xfn-fuzz-recording-"));
    try {
      writeFileSync(join(folder, "recording.yaml"), index);
      writeFileSync(join(folder, "01-a.yaml"), step);
      for (const { calls } of readRecording(folder).steps)
        for (const { output, error } of calls) assert.ok((output === undefined) !== (error === undefined));
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
});
