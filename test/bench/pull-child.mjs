// pull-child.mjs STORE HOST REFERENCE: a whole process that pulls one image into an empty store, and then again.
// It is not TypeScript, because stripping types takes Node 18 MB and 50 ms, which a built program does not spend.
import { readFileSync } from "node:fs";
import { openStore } from "@xfn/oci-rootfs";
import { exposeGc } from "@xfn/program/v8-tuning";

// As xfn and xfn-runner do.
exposeGc();

const [dir, host, reference] = process.argv.slice(2);
const store = await openStore({ dir });
await store.image(reference, { insecureRegistries: [host] });
// Do not use maxRSS of getrusage(2): Linux includes the memory of the parent process before execve.
const memory = Number(/VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "latin1"))?.[1]) / 1024;
const began = performance.now();
await store.image(reference, { insecureRegistries: [host], pullPolicy: "Always" });
console.log(JSON.stringify({ memory, again: performance.now() - began }));
