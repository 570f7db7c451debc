/**
 * Process metrics of the operating system and of Node, under the usual Prometheus names. The defaults of prom-client
 * are avoided, as they list every socket at each scrape.
 */
import { readdir } from "node:fs/promises";
import { Counter, Gauge, Registry } from "prom-client";
import { VERSION } from "../base/version.ts";

/** Creates a registry with the metrics of this process. */
export function createRuntimeRegistry(): Registry {
  const registry = new Registry();
  const registers = [registry];
  new Gauge({
    name: "agtp_build_info",
    help: "1, for the version of the daemon and of its Node.",
    labelNames: ["version", "node"],
    aggregator: "max",
    registers,
  }).set({ version: VERSION, node: process.version }, 1);
  new Gauge({
    name: "process_start_time_seconds",
    help: "When the process started, in seconds since the epoch.",
    // Several processes report the oldest one's.
    aggregator: "min",
    registers,
  }).set(Math.round(Date.now() / 1000 - process.uptime()));
  new Counter({
    name: "process_cpu_seconds_total",
    help: "Time that the processor has spent on it.",
    registers,
    collect() {
      const { user, system } = process.cpuUsage();
      this.reset();
      this.inc((user + system) / 1e6);
    },
  });
  new Gauge({
    name: "process_resident_memory_bytes",
    help: "Memory that it has.",
    registers,
    collect() {
      this.set(process.memoryUsage.rss());
    },
  });
  new Gauge({
    name: "process_open_fds",
    help: "File descriptors that are open, where the system tells.",
    registers,
    async collect() {
      const open = await readdir("/proc/self/fd").catch(() => undefined);
      if (open === undefined) this.remove();
      else this.set(open.length);
    },
  });
  new Gauge({
    name: "nodejs_heap_size_used_bytes",
    help: "Memory that JavaScript's values take.",
    registers,
    collect() {
      this.set(process.memoryUsage().heapUsed);
    },
  });
  new Gauge({
    name: "nodejs_external_memory_bytes",
    help: "Memory that Node holds for them outside of the heap.",
    registers,
    collect() {
      this.set(process.memoryUsage().external);
    },
  });
  return registry;
}
