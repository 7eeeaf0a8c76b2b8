import { setFlagsFromString } from "node:v8";

/**
 * For the start: it makes much that is soon thrown away, for which V8 would let the space of young objects grow to 16 MB, and runs
 * most code once, for which V8's middle compiler would take 25 MB.
 */
export function setFlagsForLoading(): void {
  setFlagsFromString("--semi-space-growth-factor=1");
  setFlagsFromString("--no-maglev");
}

/**
 * For a server that begins to serve. What calls leave is given back when nobody calls (`giveBackWhenIdle`), so that the heap may
 * grow to three times what is in use before all of it is looked through: V8's own bound for a heap as small as this one is reached
 * every second, and an eighth of the server's time goes into it.
 */
export function setFlagsForServing(): void {
  setFlagsFromString("--heap-growing-percent=200");
  setFlagsFromString("--semi-space-growth-factor=2");
  setFlagsFromString("--maglev");
}
