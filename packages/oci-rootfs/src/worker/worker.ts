// A worker thread of the image store (see threads.ts).
import { serveJobs } from "../threads/worker-threads.ts";
import { runHere } from "./jobs.ts";
import { sendError } from "./sent-error.ts";

serveJobs(runHere, sendError);
