// Questions of all kinds. The page must print for each what a terminal prints, byte for byte.
const line = (text) => text.split(' ');
const overlaps = ['all-gather', 'reduce-scatter', 'all-to-all', 'all-reduce'].flatMap((collective) =>
  ['16384x3584x8192', '8192x8192x3584', '4096x1024x4096'].map((gemm) => line(`overlap ${collective} --gemm ${gemm} --json`)),
);
const machines = ['h100-8', 'mi355x-8', 'mi325x-8', 'mi300x-8+codesign', 'h200-8', 'b200-8', 'mi250x-8', 't3-ring-8'].map((machine) =>
  line(`bench all-gather --on sim --sizes 64KiB,16MiB --machine ${machine} --json`),
);
const collectives = ['all-gather', 'all-to-all', 'reduce-scatter', 'all-reduce', 'broadcast', 'gather'].map((collective) =>
  line(`bench ${collective} --on sim --sizes 4KiB,1MiB,256MiB --json`),
);

export const QUESTIONS = [
  ...overlaps,
  ...machines,
  ...collectives,
  line('overlap all-gather --gemm 131072x2048x16384 --strategy auto --json'),
  line('overlap all-gather --gemm 8192x57344x8192 --bytes 896MiB --independent --json'),
  line('overlap all-gather,reduce-scatter --gemm 8192x8192x8192,8192x28672x8192 --bytes 437MiB --independent --json'),
  line('overlap reduce-scatter --gemm 8192x8192x3584 --with tracker,nmc,mca --json'),
  line('overlap all-gather --gemm 16384x3584x8192 --why --json'),
  line('overlap all-gather --gemm 16384x3584x8192 --objective energy --json'),
  line('overlap all-gather --map --n 1024 --m 4096:16384 --k 1024:4096 --json'),
  line('overlap all-gather --gemm 16384x3584x8192 --machine h100-8 --json'),
  line('bench all-gather --on sim --sizes 64KiB,16MiB --variant b2b,ring --machine virtual-64 --json'),
  line('run all-gather --on sim --variant bcst --prelaunch --bytes 1MiB --json'),
  line('run overlap all-gather --gemm 16384x3584x8192 --strategy hetero-fused-1d/8 --on sim --json'),
  line('bench copy --phases --on sim --json'),
  line('bench gemm --shapes 4096x4096x4096,16384x3584x8192 --on sim --json'),
  line('bench host-copy --on sim --json'),
  line('model llama-3.1-8b --phase decode --batch 64 --context 2048 --json'),
  line('model llama-3.1-70b --phase prefill --tp 8 --tokens 8192 --json'),
  line('kv --model llama-3.1-70b --tp 8 --tokens 32768 --json'),
  line('kv --model llama-3.1-8b --tokens 10000 --layout cross-layer --machine h100-8 --json'),
  line('power all-gather --gemm 4096x4096x4096 --bytes 64MiB --independent --policy none,uniform-cap --json'),
  line('serve-sim --model llama-3.1-8b --requests 200 --rate 20 --input 512 --output 64 --json'),
  line('show machine mi300x-8 --json'),
  line('show model deepseek-v3 --json'),
  line('list machines --json'),
  line('list strategies --json'),
  line('plan all-gather --bytes 1MiB --variant bcst'),
  line('reproduce dma-latte --json'),
];
