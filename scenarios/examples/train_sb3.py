"""Train a controller with stable-baselines3 (PPO) in eight worlds, and keep it in mine.zip.

pip install "dumbbell[gym]" stable-baselines3
python train_sb3.py 200000
dumbbell policy import mine.zip -o mine.safetensors
dumbbell race mine.safetensors cubic --rate 48Mbps --rtt 40ms --buffer 2bdp
"""

import sys

from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env

from dumbbell.gym import OrcaEnv

links = make_vec_env(OrcaEnv, n_envs=8, seed=1)
shape = {"net_arch": [32], "log_std_init": -1.5}  # exploration of +-35 % of the window at first
model = PPO("MlpPolicy", links, n_steps=256, batch_size=256, gamma=0.95, policy_kwargs=shape, seed=1)
model.learn(int(sys.argv[1]))
model.save("mine.zip")
