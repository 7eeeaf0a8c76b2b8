// A whole process that pulls one image into an empty store, and then once more: pull-child.mjs STORE HOST REFERENCE
// Not TypeScript: reading that takes Node 18 MB and 50 ms, which no program that is built spends.
import { readFileSync } from "node:fs";
import { openStore } from "@xfn/oci-rootfs";

const [dir, host, reference] = process.argv.slice(2);
const store = await openStore({ dir });
await store.image(reference, { insecureRegistries: [host] });
// Not maxRSS of getrusage(2): Linux counts in it what the process that started this one took.
const memory = Number(/VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "latin1"))?.[1]) / 1024;
const began = performance.now();
await store.image(reference, { insecureRegistries: [host], pullPolicy: "Always" });
console.log(JSON.stringify({ memory, again: performance.now() - began }));
