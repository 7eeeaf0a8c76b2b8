// A worker thread that unpacks layers, one at a time (see unpack-threads.ts).
import { parentPort } from "node:worker_threads";
import { sendError, type UnpackJob, type UnpackOutcome, unpackHere } from "./unpack-job.ts";

const respond = (outcome: UnpackOutcome): void => {
  parentPort?.postMessage(outcome); // oxlint-disable-line unicorn/require-post-message-target-origin
};

parentPort?.on("message", (job: UnpackJob) => {
  unpackHere(job).then(
    (record) => respond({ record }),
    (error: unknown) => respond({ error: sendError(error) }),
  );
});
