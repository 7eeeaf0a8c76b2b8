// A thread that unpacks layers, one after the other: see unpack-threads.ts.
import { parentPort } from "node:worker_threads";
import { sendError, type UnpackJob, type UnpackOutcome, unpackHere } from "./unpack-job.ts";

const answer = (outcome: UnpackOutcome): void => {
  parentPort?.postMessage(outcome); // oxlint-disable-line unicorn/require-post-message-target-origin
};

parentPort?.on("message", (job: UnpackJob) => {
  unpackHere(job).then(
    (record) => answer({ record }),
    (error: unknown) => answer({ error: sendError(error) }),
  );
});
